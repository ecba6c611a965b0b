#include "assay/store/database.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/engines.h"

namespace assay::store {
namespace {

class DatabaseTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    ASSERT_TRUE(database_->Write([](Transaction& t) {
      return t.RunScript(
          "CREATE TABLE item (id BIGINT PRIMARY KEY, r DOUBLE PRECISION, t TEXT, b BYTEA);"
          "CREATE TABLE part (id BIGINT PRIMARY KEY, item BIGINT NOT NULL REFERENCES item (id))");
    }));
  }
};

TEST_P(DatabaseTest, KeepsValuesOfEveryKind) {
  const std::vector<Values> all = {
      {std::int64_t{0}, 0.5, "text", Bytes{0, 1, 255}},
      {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<double>::denorm_min(), "", Bytes{}},
      {std::numeric_limits<std::int64_t>::max(), -std::numeric_limits<double>::infinity(), "'; DROP TABLE item; --\n\"$1\"",
       Bytes(100'000, 7)},
      {std::int64_t{-1}, 1e308, "Größe \xF0\x9F\x98\x80", Bytes{0}},
      {std::int64_t{1}, Null{}, Null{}, Null{}},
      {std::int64_t{2}, 3.0, "12", Bytes{'1', '2'}},
  };
  for (const Values& values : all) {
    const auto back = database_->Write([&](Transaction& t) -> Result<Rows> {
      ASSAY_ASSIGN(const Rows inserted,
                   t.Run("INSERT INTO item (id, r, t, b) VALUES ($1, $2, $3, $4)", std::span<const Value>(values)));
      EXPECT_EQ(inserted.changed, 1);
      return t.Run("SELECT id, r, t, b FROM item WHERE id = $1", {values[0]});
    });
    ASSERT_TRUE(back) << back.error().message;
    ASSERT_EQ(back->size(), 1u);
    EXPECT_EQ((*back)[0].values(), values);
    EXPECT_EQ(back->changed, 0);
  }
}

TEST_P(DatabaseTest, ParametersStandAnywhereAndKeepTheirKind) {
  const auto rows =
      database_->Read([](Transaction& t) { return t.Run("SELECT $2, $1, $2, $3, $4", {1, "two", 2.5, Bytes{4}}); });
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ((*rows)[0].values(), (Values{"two", 1, "two", 2.5, Bytes{4}}));
  // The same text with other kinds.
  const auto others =
      database_->Read([](Transaction& t) { return t.Run("SELECT $2, $1, $2, $3, $4", {"one", 2, 2.5, Bytes{4}}); });
  ASSERT_TRUE(others) << others.error().message;
  EXPECT_EQ((*others)[0].values(), (Values{2, "one", 2, 2.5, Bytes{4}}));
}

TEST_P(DatabaseTest, AValueOfAnotherKindIsAnError) {
  const auto row = database_->Read([](Transaction& t) { return t.Run("SELECT $1, $2", {"five", Null{}}); });
  ASSERT_TRUE(row);
  EXPECT_EQ((*row)[0].Integer(0).error().message, "column 0 of the answer: expected an integer, found text");
  EXPECT_EQ((*row)[0].Text(1).error().message, "column 1 of the answer: expected text, found null");
  EXPECT_TRUE((*row)[0].IsNull(1));
}

TEST_P(DatabaseTest, TheDialectMeansTheSame) {
  ASSERT_TRUE(Do("INSERT INTO item (id, t) VALUES (1, 'a'), (2, 'b'), (3, 'c')"));
  const auto outcome = database_->Write([](Transaction& t) -> Status {
    ASSAY_ASSIGN(const Rows ignored, t.Run("INSERT INTO item (id) VALUES ($1) ON CONFLICT DO NOTHING", {1}));
    EXPECT_EQ(ignored.changed, 0);
    ASSAY_ASSIGN(
        const Rows upserted,
        t.Run("INSERT INTO item (id, t) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET t = excluded.t RETURNING t", {1, "z"}));
    EXPECT_EQ(upserted.changed, 1);
    EXPECT_EQ(upserted[0].values(), Values{"z"});
    ASSAY_ASSIGN(const Rows updated, t.Run("UPDATE item SET r = $1 WHERE id >= $2", {1.5, 2}));
    EXPECT_EQ(updated.changed, 2);
    ASSAY_ASSIGN(const Rows sums, t.Run("SELECT CAST(SUM(id) AS BIGINT), COUNT(*), SUM(r), MAX(t) FROM item"));
    EXPECT_EQ(sums[0].values(), (Values{6, 3, 3.0, "z"}));
    ASSAY_ASSIGN(const Rows page,
                 t.Run("WITH late AS (SELECT id FROM item WHERE id > $1) SELECT id FROM late ORDER BY id LIMIT $2", {1, 1}));
    EXPECT_EQ(page[0].values(), Values{2});
    ASSAY_ASSIGN(const Rows removed, t.Run("DELETE FROM item"));
    EXPECT_EQ(removed.changed, 3);
    return {};
  });
  EXPECT_TRUE(outcome) << outcome.error().message;
}

TEST_P(DatabaseTest, AFunctionThatFailsLeavesNothing) {
  const auto outcome = database_->Write([](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("INSERT INTO item (id) VALUES (1)"));
    return Err("changed my mind");
  });
  EXPECT_EQ(outcome.error().message, "changed my mind");
  EXPECT_FALSE(outcome.error().broken);
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM item"), 0);
}

TEST_P(DatabaseTest, AFailedStatementTakesItsTransactionWithIt) {
  const auto outcome = database_->Write([](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("INSERT INTO item (id) VALUES (1)"));
    EXPECT_FALSE(t.Run("INSERT INTO item (id) VALUES (1)"));
    EXPECT_FALSE(t.Run("INSERT INTO item (id) VALUES (2)"));
    return {};
  });
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(IsClear(outcome.error())) << outcome.error().message;
  EXPECT_FALSE(outcome.error().system);
  EXPECT_FALSE(outcome.error().unknown_outcome);
  EXPECT_TRUE(outcome.error().broken);
  EXPECT_NE(outcome.error().message.find("INSERT INTO item (id) VALUES (1)"), std::string::npos) << outcome.error().message;
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM item"), 0);
}

TEST_P(DatabaseTest, ReadingDoesNotWrite) {
  const auto outcome = database_->Read([](Transaction& t) { return t.Run("INSERT INTO item (id) VALUES (1)"); });
  ASSERT_FALSE(outcome);
  EXPECT_TRUE(outcome.error().broken);
  EXPECT_NE(outcome.error().message.find("a transaction that reads may not write"), std::string::npos)
      << outcome.error().message;
  EXPECT_TRUE(Do("INSERT INTO item (id) VALUES (1)"));
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM item"), 1);
}

TEST_P(DatabaseTest, ForeignKeysHold) {
  EXPECT_FALSE(Do("INSERT INTO part (id, item) VALUES (1, 7)"));
  EXPECT_TRUE(Do("INSERT INTO item (id) VALUES (7)"));
  EXPECT_TRUE(Do("INSERT INTO part (id, item) VALUES (1, 7)"));
  EXPECT_FALSE(Do("DELETE FROM item WHERE id = 7"));
}

TEST_P(DatabaseTest, WhatOneDatabaseCannotKeepBothRefuse) {
  const char* insert = "INSERT INTO item (id, r, t) VALUES ($1, $2, $3)";
  const auto message = [&](const Values& values) { return Do(insert, values).error().message; };
  EXPECT_NE(message({1, std::nan(""), "x"}).find("parameter $2 is not a number"), std::string::npos);
  EXPECT_NE(message({1, 1.0, std::string("a\0b", 3)}).find("parameter $3 is text with a zero byte"), std::string::npos);
  for (const char* text : {"\xFF", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80"}) {
    EXPECT_NE(message({1, 1.0, text}).find("parameter $3 is text that is not UTF-8"), std::string::npos) << text;
  }
  EXPECT_FALSE(Do(insert, {1, 1.0}));
  EXPECT_FALSE(Do("SELECT 1; SELECT 2"));
  EXPECT_FALSE(Do(""));
  EXPECT_FALSE(Do("SELEKT 1"));
  EXPECT_FALSE(Do("INSERT INTO item (id) VALUES ($2)", {1}));
  EXPECT_EQ(*Number("SELECT COUNT(*) FROM item"), 0);
}

TEST_P(DatabaseTest, ManyDifferentStatementsArePrepared) {
  for (std::int64_t i = 0; i < 600; ++i) {
    const auto number = Number(fmt::format("SELECT {} + $1", i % 550), {std::int64_t{1}});
    ASSERT_TRUE(number) << number.error().message;
    EXPECT_EQ(*number, i % 550 + 1);
  }
}

TEST_P(DatabaseTest, AFunctionMayReturnMoreThanAStatus) {
  const Result<std::string> text = database_->Write([](Transaction&) -> Result<std::string> { return "yes"; });
  EXPECT_EQ(*text, "yes");
  const Result<std::unique_ptr<int>> moved =
      database_->Write([](Transaction&) -> Result<std::unique_ptr<int>> { return std::make_unique<int>(5); });
  EXPECT_EQ(**moved, 5);
}

TEST_P(DatabaseTest, ANameHasNoPassword) {
  EXPECT_EQ(database_->name().find("unused-secret"), std::string::npos) << database_->name();
}

INSTANTIATE_TEST_SUITE_P(Every, DatabaseTest, ::testing::ValuesIn(Engines(false)), EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DatabaseTest);

TEST(DatabaseOpen, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(Database::Open(""));
  const auto other = Database::Open("mysql://user:unused-secret@host/name");
  EXPECT_EQ(other.error().message, "database 'mysql': unknown scheme; expected a file, :memory: or postgresql://HOST/NAME");
#ifndef ASSAY_HAVE_POSTGRES
  EXPECT_EQ(Database::Open("postgresql://host/name").error().message, "this build has no PostgreSQL");
#endif
#ifndef ASSAY_HAVE_SQLITE
  EXPECT_EQ(Database::Open("rows.db").error().message, "rows.db: this build has no SQLite");
#endif
}

}  // namespace
}  // namespace assay::store
