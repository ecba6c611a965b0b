// A Session on PostgreSQL. See session.h.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "assay/store/session.h"

struct pg_conn;
struct pg_result;

namespace assay::store {

class PostgresSession final : public Session {
 public:
  // `name`: the URL without its password. `lock_wait_ms`: how long a statement waits for a lock.
  static Attempt<std::unique_ptr<Session>> Open(const std::string& url, const std::string& name, std::int64_t lock_wait_ms);
  ~PostgresSession() override;
  PostgresSession(const PostgresSession&) = delete;
  PostgresSession& operator=(const PostgresSession&) = delete;

  Attempt<void> Begin(Access access, std::int64_t wait_ms) override;
  Attempt<Rows> Run(std::string_view sql, std::span<const Value> parameters) override;
  Attempt<void> RunScript(std::string_view sql) override;
  Attempt<void> Commit() override;
  bool RollBack() override;

 private:
  struct Clear {
    void operator()(pg_result* result) const;
  };
  using Answer = std::unique_ptr<pg_result, Clear>;

  PostgresSession(pg_conn* connection, const std::string& name) : connection_(connection), name_(name) {}
  Attempt<Answer> Execute(const char* sql);
  Attempt<std::string> Prepare(std::string_view sql, const class PostgresParameters& parameters);
  Attempt<Answer> Checked(pg_result* result, std::string_view sql);
  Fault Failure(const pg_result* result, std::string_view sql) const;
  Attempt<Rows> Decode(const pg_result* result, std::string_view sql) const;
  bool Unlock();

  pg_conn* connection_;
  const std::string name_;
  std::map<std::string, std::string, std::less<>> prepared_;  // signature and text to name
  std::uint64_t next_name_ = 0;
  Access access_ = Access::kRead;
};

}  // namespace assay::store
