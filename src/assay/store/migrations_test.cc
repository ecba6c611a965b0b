#include "assay/store/migrations.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/engines.h"

namespace assay::store {
namespace {

constexpr Migration kSteps[] = {
    {1, "jobs", "CREATE TABLE job (id TEXT PRIMARY KEY, state TEXT NOT NULL); CREATE INDEX job_state ON job (state)"},
    {2, "leases", "CREATE TABLE lease (job TEXT PRIMARY KEY REFERENCES job (id), until_ms BIGINT NOT NULL)"},
    {3, "owners", "ALTER TABLE job ADD COLUMN owner TEXT; UPDATE job SET owner = 'nobody'"},
};
constexpr std::span<const Migration> kAll = kSteps;

class MigrationsTest : public EngineTest {};

TEST_P(MigrationsTest, StepsAreTakenOnce) {
  EXPECT_EQ(*Migrate(*database_, kAll.first(2)), 2);
  ASSERT_TRUE(Do("INSERT INTO job (id, state) VALUES ('a', 'new')"));
  EXPECT_EQ(*Migrate(*database_, kAll), 1);
  EXPECT_EQ(*Migrate(*database_, kAll), 0);
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM job WHERE owner = 'nobody'"), 1);
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM schema_versions"), 3);
}

TEST_P(MigrationsTest, ANewerDatabaseIsRefused) {
  ASSERT_TRUE(Migrate(*database_, kAll));
  const auto refused = Migrate(*database_, kAll.first(1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("has schema version 3"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("this program knows versions up to 1"), std::string::npos);
}

TEST_P(MigrationsTest, OtherStatementsAreRefused) {
  ASSERT_TRUE(Migrate(*database_, kAll.first(1)));
  const Migration changed[] = {{1, "jobs", "CREATE TABLE job (id TEXT PRIMARY KEY)"}, kSteps[1]};
  const auto refused = Migrate(*database_, changed);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("schema version 1 ('jobs') was applied with other statements"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM schema_versions"), 1);
}

TEST_P(MigrationsTest, AStepThatFailsLeavesNothing) {
  const Migration bad[] = {kSteps[0], {2, "bad", "CREATE TABLE half (id BIGINT); INSERT INTO nowhere VALUES (1)"}};
  EXPECT_FALSE(Migrate(*database_, bad));
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM schema_versions"), 1);
  EXPECT_FALSE(Number("SELECT COUNT(*) FROM half"));
  EXPECT_EQ(*Migrate(*database_, kAll), 2);
}

TEST_P(MigrationsTest, SeveralMayStartAtOnce) {
  if (GetParam() == Engine::kMemory) GTEST_SKIP() << "not shared";
  std::atomic<std::int64_t> taken = 0;
  std::vector<std::thread> programs;
  for (int i = 0; i < 4; ++i) {
    programs.emplace_back([&] {
      const auto database = Open();
      ASSERT_NE(database, nullptr);
      const auto steps = Migrate(*database, kAll);
      ASSERT_TRUE(steps) << steps.error().message;
      taken += *steps;
    });
  }
  for (std::thread& program : programs) program.join();
  EXPECT_EQ(taken, 3);
}

INSTANTIATE_TEST_SUITE_P(Every, MigrationsTest, ::testing::ValuesIn(Engines(false)), EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MigrationsTest);

}  // namespace
}  // namespace assay::store
