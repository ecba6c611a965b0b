// What only a database in a file can meet: permissions, other files, a full disk.
#include <gtest/gtest.h>

#ifdef ASSAY_HAVE_SQLITE

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "assay/store/database.h"
#include "support/engines.h"

namespace assay::store {
namespace {

TEST(Sqlite, TheFileIsItsOwnersAlone) {
  const testkit::Scratch scratch;
  const auto database = Database::Open(scratch / "rows.db");
  ASSERT_TRUE(database);
  ASSERT_TRUE((*database)->Write([](Transaction& t) { return t.RunScript("CREATE TABLE x (a BIGINT)"); }));
  for (const char* name : {"rows.db", "rows.db-wal", "rows.db-shm"}) {
    struct stat info{};
    ASSERT_EQ(::stat((scratch / name).c_str(), &info), 0) << name;
    EXPECT_EQ(info.st_mode & 0777, 0600u) << name;
  }
}

TEST(Sqlite, WhatCannotBeOpenedIsOneClearLine) {
  const testkit::Scratch scratch;
  std::ofstream(scratch / "text") << std::string(5000, 'x');
  const auto message = [](const std::string& path) {
    const auto refused = Database::Open(path);
    EXPECT_FALSE(refused);
    return refused ? std::string() : refused.error().message;
  };
  EXPECT_EQ(message(scratch / "absent/rows.db"), scratch / "absent/rows.db" + ": cannot create: No such file or directory");
  EXPECT_EQ(message(scratch.path()), scratch.path() + ": cannot open: Is a directory");
  EXPECT_NE(message(scratch / "text").find("the file is not a database"), std::string::npos) << message(scratch / "text");
  if (::geteuid() != 0) {
    ::chmod((scratch / "text").c_str(), 0400);
    EXPECT_EQ(message(scratch / "text"), scratch / "text" + ": cannot open: Permission denied");
  }
}

// As a child process sees it, which opens the database, counts rows and closes it.
int RowsElsewhere(const std::string& path) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::int64_t rows = 100;
    {
      const auto database = Database::Open(path);
      if (database) {
        const auto counted = (*database)->Read([](Transaction& t) -> Result<std::int64_t> {
          ASSAY_ASSIGN(const Rows found, t.Run("SELECT COUNT(*) FROM x"));
          return found[0].Integer(0);
        });
        rows = counted.value_or(101);
      }
    }
    ::_exit(static_cast<int>(rows));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

// The log of writes is one for all processes: who comes and goes must not take it away from who stays.
TEST(Sqlite, ProcessesThatComeAndGoLeaveTheOthersTheirLog) {
  const testkit::Scratch scratch;
  const std::string path = scratch / "rows.db";
  const auto database = std::move(*Database::Open(path, {.connections = 4}));
  ASSERT_TRUE(database->Write([](Transaction& t) { return t.RunScript("CREATE TABLE x (a BIGINT)"); }));
  const auto insert = [&] {
    return database->Write([](Transaction& t) { return t.RunScript("INSERT INTO x (a) VALUES (1)"); });
  };
  // A transaction within another: the process has two sessions.
  ASSERT_TRUE(database->Read([&](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("SELECT COUNT(*) FROM x"));
    return insert();
  }));
  EXPECT_EQ(RowsElsewhere(path), 1);
  ASSERT_TRUE(insert());
  EXPECT_EQ(RowsElsewhere(path), 2);
}

TEST(Sqlite, AFullDiskIsOneClearLine) {
  const auto database = std::move(*Database::Open(":memory:"));
  const auto full = database->Write([](Transaction& t) -> Status {
    ASSAY_TRY(t.Run("PRAGMA max_page_count = 10"));
    ASSAY_TRY(t.RunScript("CREATE TABLE x (b BYTEA)"));
    ASSAY_TRY(t.Run("INSERT INTO x (b) VALUES ($1)", {Bytes(100'000, 1)}));
    return {};
  });
  ASSERT_FALSE(full);
  EXPECT_TRUE(full.error().system);
  EXPECT_FALSE(full.error().unknown_outcome);
  EXPECT_EQ(full.error().message, ":memory:: 'INSERT INTO x (b) VALUES ($1)': the disk is full");
}

TEST(Sqlite, AWriteThatFailsLosesNothing) {
  const testkit::Scratch scratch;
  const auto database = std::move(*Database::Open(scratch / "rows.db"));
  ASSERT_TRUE(database->Write([](Transaction& t) { return t.RunScript("CREATE TABLE x (a BIGINT PRIMARY KEY, b BYTEA)"); }));
  const auto insert = [&](std::int64_t i) {
    return database->Write(
        [&](Transaction& t) { return t.Run("INSERT INTO x (a, b) VALUES ($1, $2)", {i, Bytes(50'000, 1)}); });
  };
  // A limit of the process stands in for a disk that fails.
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{500'000, before.rlim_max};
  ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::int64_t done = 0;
  Result<Rows> last = insert(0);
  while (last && done < 100) last = insert(++done);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(last);
  EXPECT_GT(done, 3);
  EXPECT_TRUE(last.error().system);
  EXPECT_TRUE(IsClear(last.error())) << last.error().message;
  const auto count = database->Read([](Transaction& t) -> Result<std::int64_t> {
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT COUNT(*) FROM x"));
    return rows[0].Integer(0);
  });
  EXPECT_EQ(*count, done);
  EXPECT_TRUE(insert(done));
}

}  // namespace
}  // namespace assay::store

#endif  // ASSAY_HAVE_SQLITE
