// Transactions at once: threads and several users of one database.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "assay/store/database.h"
#include "support/engines.h"

namespace assay::store {
namespace {

class TogetherTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    ASSERT_TRUE(Do("CREATE TABLE account (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)"));
    ASSERT_TRUE(Do("INSERT INTO account (id, balance) VALUES (1, 0), (2, 0)"));
  }
  static Result<std::int64_t> Balance(Transaction& t, std::int64_t id) {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT balance FROM account WHERE id = $1", {id}));
    return rows[0].Integer(0);
  }
  static Status SetBalance(Transaction& t, std::int64_t id, std::int64_t balance) {
    ASSAY_TRY(t.Run("UPDATE account SET balance = $2 WHERE id = $1", {id, balance}));
    return {};
  }
};

TEST_P(TogetherTest, NoUpdateIsLost) {
  const auto other = Open();  // as another process would have it
  constexpr int kThreads = 6, kRounds = 20;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Database& mine = i % 2 == 0 ? *database_ : *other;
      for (int round = 0; round < kRounds; ++round) {
        const auto done = mine.Write([](Transaction& t) -> Status {
          ASSAY_ASSIGN(const std::int64_t balance, Balance(t, 1));
          return SetBalance(t, 1, balance + 1);
        });
        EXPECT_TRUE(done) << done.error().message;
        const auto read = mine.Read([](Transaction& t) { return Balance(t, 1); });
        EXPECT_TRUE(read && *read > round);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*Number("SELECT balance FROM account WHERE id = 1"), kThreads * kRounds);
}

// Two that read how many numbers are taken take the same one: PostgreSQL calls that a key that is there already, not a conflict.
TEST_P(TogetherTest, EverybodyGetsANumberOfTheirOwn) {
  ASSERT_TRUE(Do("CREATE TABLE number (n BIGINT PRIMARY KEY)"));
  const auto other = Open();
  constexpr int kThreads = 4, kRounds = 15;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        const auto done = (i % 2 == 0 ? *database_ : *other).Write([](Transaction& t) -> Status {
          ASSAY_ASSIGN(const std::int64_t taken, Balance(t, 1));
          ASSAY_TRY(t.Run("INSERT INTO number (n) VALUES ($1)", {taken}));
          return SetBalance(t, 1, taken + 1);
        });
        EXPECT_TRUE(done) << done.error().message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM number"), kThreads * kRounds);
}

// Each looks at both accounts and takes from its own only if the sum allows it. One after the other, only one of them may.
TEST_P(TogetherTest, WritesDoNotSkew) {
  const auto other = Open();
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(Do("UPDATE account SET balance = 1"));
    std::atomic<int> taken = 0;
    const auto take = [&](Database& database, std::int64_t mine) {
      const auto done = database.Write([&](Transaction& t) -> Result<bool> {
        ASSAY_ASSIGN(const std::int64_t first, Balance(t, 1));
        ASSAY_ASSIGN(const std::int64_t second, Balance(t, 2));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        if (first + second < 2) return false;
        ASSAY_TRY(SetBalance(t, mine, 0));
        return true;
      });
      ASSERT_TRUE(done) << done.error().message;
      if (*done) ++taken;
    };
    std::thread first(take, std::ref(*database_), 1), second(take, std::ref(*other), 2);
    first.join();
    second.join();
    EXPECT_EQ(taken, 1);
  }
}

TEST_P(TogetherTest, AloneIsAloneAndSeesWhatCameBefore) {
  const auto other = Open();
  std::atomic<int> inside = 0;
  const auto work = [&](Database& database) {
    for (int round = 0; round < 10; ++round) {
      const auto done = database.In(Access::kAlone, [&](Transaction& t) -> Status {
        EXPECT_EQ(inside.fetch_add(1), 0);
        const auto balance = Balance(t, 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        const Status set = balance ? SetBalance(t, 1, *balance + 1) : Status(tl::unexpected(balance.error()));
        inside.fetch_sub(1);
        return set;
      });
      EXPECT_TRUE(done) << done.error().message;
    }
  };
  std::thread first(work, std::ref(*database_)), second(work, std::ref(*other)), third(work, std::ref(*database_));
  for (std::thread* thread : {&first, &second, &third}) thread->join();
  EXPECT_EQ(*Number("SELECT balance FROM account WHERE id = 1"), 30);
}

TEST_P(TogetherTest, PatienceEnds) {
  const auto hasty = Open({.patience_ms = 200});
  std::atomic<bool> held = false, release = false;
  std::thread holder([&] {
    EXPECT_TRUE(database_->Write([&](Transaction& t) -> Status {
      ASSAY_TRY(SetBalance(t, 1, 5));
      held = true;
      while (!release) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return {};
    }));
  });
  while (!held) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto done = hasty->Write([](Transaction& t) { return SetBalance(t, 1, 6); });
  // Reading goes on meanwhile, and sees what was committed.
  EXPECT_EQ(*hasty->Read([](Transaction& t) { return Balance(t, 1); }), 0);
  release = true;
  holder.join();
  ASSERT_FALSE(done);
  EXPECT_TRUE(IsClear(done.error())) << done.error().message;
  EXPECT_TRUE(done.error().system);
  EXPECT_NE(done.error().message.find("gave up after 200 ms"), std::string::npos) << done.error().message;
  EXPECT_EQ(*Number("SELECT balance FROM account WHERE id = 1"), 5);
}

INSTANTIATE_TEST_SUITE_P(Every, TogetherTest, ::testing::ValuesIn(Engines(true)), EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TogetherTest);

}  // namespace
}  // namespace assay::store
