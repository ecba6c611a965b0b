// What only a server can do: go away, before a commit and during one.
#include <gtest/gtest.h>

#include "assay/store/postgres_url.h"

#ifdef ASSAY_HAVE_POSTGRES

#include <atomic>
#include <thread>

#include "assay/store/database.h"
#include "support/engines.h"
#include "support/postgres_proxy.h"

namespace assay::store {
namespace {

class PostgresTest : public ::testing::Test {
 protected:
  void SetUp() override {
    url_ = *Server().NewDatabase();
    direct_ = std::move(*Database::Open(url_));
    ASSERT_TRUE(direct_->Write([](Transaction& t) { return t.RunScript("CREATE TABLE x (a BIGINT PRIMARY KEY)"); }));
  }
  std::string DatabaseName() const { return url_.substr(url_.find("@/") + 2, url_.find('?') - url_.find("@/") - 2); }
  std::int64_t Count() {
    return *direct_->Read([](Transaction& t) -> Result<std::int64_t> {
      ASSAY_ASSIGN(const Rows rows, t.Run("SELECT COUNT(*) FROM x"));
      return rows[0].Integer(0);
    });
  }
  // Ends every connection but the one that says so.
  void EndOthers() {
    EXPECT_TRUE(direct_->Write([](Transaction& t) {
      return t.Run(
          "SELECT CAST(COUNT(pg_terminate_backend(pid)) AS BIGINT) FROM pg_stat_activity "
          "WHERE datname = current_database() AND pid <> pg_backend_pid()");
    }));
  }
  static Status Insert(Database& database, std::int64_t a) {
    return database.Write([&](Transaction& t) -> Status {
      ASSAY_TRY(t.Run("INSERT INTO x (a) VALUES ($1)", {a}));
      return {};
    });
  }

  std::string url_;
  std::unique_ptr<Database> direct_;
};

TEST_F(PostgresTest, AConnectionThatWasDroppedIsOpenedAgain) {
  const auto database = std::move(*Database::Open(url_));
  for (std::int64_t i = 0; i < 3; ++i) {
    const Status done = Insert(*database, i);
    EXPECT_TRUE(done) << done.error().message;
    EndOthers();
  }
  EXPECT_EQ(Count(), 3);
}

TEST_F(PostgresTest, ATransactionWhoseConnectionIsLostBeforeTheCommitIsTriedAgain) {
  const auto database = std::move(*Database::Open(url_));
  int calls = 0;
  const Status done = database->Write([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("INSERT INTO x (a) VALUES (1)"));
    if (++calls == 1) EndOthers();
    ASSAY_TRY(t.Run("INSERT INTO x (a) VALUES (2)"));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(Count(), 2);
}

TEST_F(PostgresTest, ACommitWithoutAnAnswerIsOfUnknownOutcome) {
  PostgresProxy proxy(Server().folder());
  const auto database = std::move(*Database::Open(testkit::PostgresServer::Url(proxy.folder(), DatabaseName())));
  ASSERT_TRUE(Insert(*database, 1));
  proxy.CutAtCommit(PostgresProxy::Cut::kAnswer);
  const Status done = Insert(*database, 2);
  ASSERT_FALSE(done);
  EXPECT_TRUE(done.error().unknown_outcome) << done.error().message;
  EXPECT_TRUE(IsClear(done.error())) << done.error().message;
  EXPECT_EQ(Count(), 2);  // it happened
  proxy.CutAtCommit(PostgresProxy::Cut::kRequest);
  const Status other = Insert(*database, 3);
  ASSERT_FALSE(other);
  EXPECT_TRUE(other.error().unknown_outcome) << other.error().message;
  EXPECT_EQ(Count(), 2);  // it did not happen
  // The caller repeats, and the next connection serves it.
  EXPECT_TRUE(Insert(*database, 3));
  // A commit of a transaction that only reads loses nothing.
  proxy.CutAtCommit(PostgresProxy::Cut::kAnswer);
  EXPECT_TRUE(database->Read([](Transaction& t) { return t.Run("SELECT a FROM x"); }));
}

TEST_F(PostgresTest, AServerThatRestartsIsWaitedFor) {
  const auto database = std::move(*Database::Open(url_));
  ASSERT_TRUE(Insert(*database, 1));
  Server().Kill();
  Status done;
  std::thread meanwhile([&] { done = Insert(*database, 2); });
  EXPECT_TRUE(Server().Launch());
  meanwhile.join();
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(Count(), 2);
  Server().Stop();
  const auto hasty = Database::Open(url_);
  ASSERT_FALSE(hasty);
  EXPECT_TRUE(IsClear(hasty.error())) << hasty.error().message;
  EXPECT_TRUE(hasty.error().system);
  EXPECT_NE(hasty.error().message.find("cannot connect"), std::string::npos);
  ASSERT_TRUE(Server().Launch());
}

TEST_F(PostgresTest, AColumnOfAnotherTypeIsRefused) {
  const auto refused =
      direct_->Read([](Transaction& t) { return t.Run("SELECT SUM(a) FROM x WHERE a > 0 HAVING COUNT(*) >= 0"); });
  EXPECT_TRUE(refused) << "a null has no type";
  const auto numeric = direct_->Read([](Transaction& t) { return t.Run("SELECT CAST(1 AS NUMERIC)"); });
  ASSERT_FALSE(numeric);
  EXPECT_NE(numeric.error().message.find("column 0 has a type other than BIGINT"), std::string::npos)
      << numeric.error().message;
}

TEST_F(PostgresTest, PasswordsStayOutOfMessages) {
  for (const char* url :
       {"postgresql://user:unused-secret@127.0.0.1:1/name", "postgresql://user:unused-secret@no-such-host.invalid/name",
        "postgresql://user:unused-secret@host:port/name", "postgresql://user:unused-secret/x@host/name",
        "postgresql://user:unused-secret@x@host/name", "postgresql://user:unused-secret?x@host/name",
        "postgresql://user:unused-secret@host/name?nonsense=1",
        "postgresql://host/name?password=unused-secret&port=1&connect_timeout=1",
        "postgresql://user:unused-secret%zz@host/name", "postgres://user:1?unused-secret@host/name",
        "postgresql://user:unused-secret@[::1/name"}) {
    const auto refused = Database::Open(url);
    ASSERT_FALSE(refused) << url;
    EXPECT_TRUE(IsClear(refused.error())) << refused.error().message;
  }
}

}  // namespace
}  // namespace assay::store

#endif  // ASSAY_HAVE_POSTGRES

namespace assay::store {
namespace {

TEST(PostgresUrl, TheOnlyAtEndsThePassword) {
  EXPECT_TRUE(CheckPostgresUrl("postgresql://host/name"));
  EXPECT_TRUE(CheckPostgresUrl("postgresql://user:pass%40word@host:5432/name?sslmode=require"));
  EXPECT_TRUE(CheckPostgresUrl("postgresql://user@/name?host=%2Ftmp"));
  for (const char* url : {"host/name", "postgresql://a:b@c@d/e", "postgresql://a:b/c@d/e", "postgresql://a:b?c@d/e",
                          "postgresql://a:b#c@d/e", "postgresql://host/name?password=a@b"}) {
    EXPECT_FALSE(CheckPostgresUrl(url)) << url;
  }
}

}  // namespace
}  // namespace assay::store
