// A Session on SQLite. See session.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "assay/store/session.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay::store {

class SqliteSession final : public Session {
 public:
  static Attempt<std::unique_ptr<Session>> Open(const std::string& path);
  ~SqliteSession() override;
  SqliteSession(const SqliteSession&) = delete;
  SqliteSession& operator=(const SqliteSession&) = delete;

  Attempt<void> Begin(Access access, std::int64_t wait_ms) override;
  Attempt<Rows> Run(std::string_view sql, std::span<const Value> parameters) override;
  Attempt<void> RunScript(std::string_view sql) override;
  Attempt<void> Commit() override;
  bool RollBack() override;

 private:
  SqliteSession(sqlite3* handle, const std::string& path) : handle_(handle), path_(path) {}
  Attempt<void> Execute(const char* sql);
  Attempt<void> Bracket(const char* sql);
  Attempt<sqlite3_stmt*> Prepare(std::string_view sql);
  Attempt<Rows> Step(sqlite3_stmt* statement, std::string_view sql);
  Fault Failure(int code, std::string_view doing) const;
  Fault StatementFailure(int code, std::string_view sql) const;

  sqlite3* handle_;
  const std::string path_;
  std::map<std::string, sqlite3_stmt*, std::less<>> prepared_;
  bool writes_ = false;  // the transaction under way may
};

}  // namespace assay::store
