// Every database that the store knows, for tests that run on each of them. The PostgreSQL server is started when the first test needs it and
// ends with the process.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "assay/store/database.h"
#include "support/postgres.h"
#include "support/scratch.h"

namespace assay::store {

enum class Engine { kSqlite, kMemory, kPostgres };

inline std::string EngineName(const ::testing::TestParamInfo<Engine>& engine) {
  return engine.param == Engine::kSqlite ? "Sqlite" : engine.param == Engine::kMemory ? "Memory" : "Postgres";
}

// Those of this build; `shared` leaves out the one that two connections cannot share.
inline std::vector<Engine> Engines([[maybe_unused]] bool shared) {
  std::vector<Engine> engines;
#ifdef ASSAY_HAVE_SQLITE
  engines.push_back(Engine::kSqlite);
  if (!shared) engines.push_back(Engine::kMemory);
#endif
#ifdef ASSAY_HAVE_POSTGRES
  engines.push_back(Engine::kPostgres);
#endif
  return engines;
}

inline testkit::PostgresServer& Server() {
  static const auto server = testkit::PostgresServer::Start();
  if (!server) ADD_FAILURE() << server.error().message;
  return **server;
}

// An empty database of one test's own.
class EngineTest : public ::testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    if (GetParam() == Engine::kSqlite) where_ = scratch_ / "rows.db";
    if (GetParam() == Engine::kMemory) where_ = ":memory:";
    if (GetParam() == Engine::kPostgres) {
      const auto url = Server().NewDatabase();
      ASSERT_TRUE(url) << url.error().message;
      where_ = *url;
    }
    database_ = Open();
    ASSERT_NE(database_, nullptr);
  }

  std::unique_ptr<Database> Open(const DatabaseOptions& options = {}) const {
    auto database = Database::Open(where_, options);
    if (!database) {
      ADD_FAILURE() << database.error().message;
      return nullptr;
    }
    return std::move(*database);
  }

  // The first value of the first row, in a transaction of its own.
  Result<std::int64_t> Number(std::string_view sql, const Values& parameters = {}) {
    return database_->Read([&](Transaction& t) -> Result<std::int64_t> {
      ASSAY_ASSIGN(const Rows rows, t.Run(sql, std::span<const Value>(parameters)));
      if (rows.empty()) return Err("no rows");
      return rows[0].Integer(0);
    });
  }

  Status Do(std::string_view sql, const Values& parameters = {}) {
    return database_->Write([&](Transaction& t) -> Status {
      ASSAY_TRY(t.Run(sql, std::span<const Value>(parameters)));
      return {};
    });
  }

  testkit::Scratch scratch_;
  std::string where_;
  std::unique_ptr<Database> database_;
};

// One line, of text that a terminal can show, without the password of the test's URLs.
inline bool IsClear(const Error& error) {
  return !error.message.empty() && error.message.find('\n') == std::string::npos &&
         error.message.find("unused-secret") == std::string::npos;
}

}  // namespace assay::store
