#include "assay/store/postgres_session.h"

#ifdef ASSAY_HAVE_POSTGRES

#include <libpq-fe.h>

#include <charconv>

#include "assay/base/quote.h"
#include "assay/store/pooled.h"
#include "assay/store/postgres_url.h"
#include "assay/store/postgres_values.h"

namespace assay::store {
namespace {

constexpr std::size_t kMostPrepared = 256;
// The lock that kAlone transactions take: "assay" in ASCII. Held by a session, so it goes with a connection that is lost.
constexpr const char* kLock = "SELECT pg_advisory_lock(418548769145)";
constexpr const char* kUnlock = "SELECT pg_advisory_unlock(418548769145)";

std::string Field(const PGresult* result, int code) {
  const char* text = PQresultErrorField(result, code);
  return text == nullptr ? "" : text;
}

std::string LastMessage(const PGconn* connection) {
  std::string text = PQerrorMessage(connection);
  while (text.ends_with('\n')) text.pop_back();
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return OneLine(text);
}

// The URL without its password; an error that names no part of it where it is not one.
Result<std::string> NameOf(const std::string& url) {
  ASSAY_TRY(CheckPostgresUrl(url));
  char* ignored = nullptr;
  PQconninfoOption* options = PQconninfoParse(url.c_str(), &ignored);
  PQfreemem(ignored);
  if (options == nullptr)
    return Err("the database's URL cannot be understood; expected postgresql://USER:PASSWORD@HOST:PORT/NAME");
  std::map<std::string_view, std::string> found;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) found[option->keyword] = option->val;
  }
  std::string name = "postgresql://";
  if (found.contains("user")) name += found["user"] + "@";
  name += found["host"].empty() ? found["hostaddr"] : found["host"];
  if (found.contains("port")) name += ":" + found["port"];
  name += "/" + found["dbname"];
  PQconninfoFree(options);
  return OneLine(name);
}

// What the codes of the database mean for a transaction (PostgreSQL manual, appendix A).
Fault::Kind KindOf(std::string_view state) {
  if (state == "40001" || state == "40P01" || state == "55P03")
    return Fault::Kind::kConflict;  // serialization, deadlock, lock_timeout
  if (state == "23505")
    return Fault::Kind::kTaken;  // also where a serializable transaction has looked for the key and found none
  if (state == "57P01" || state == "57P02" || state == "57P03" || state == "25P03")
    return Fault::Kind::kLost;  // the server ends or restarts
  return Fault::Kind::kFinal;
}

bool IsSystem(std::string_view state) {
  return state.starts_with("53") || state.starts_with("57") || state.starts_with("58") || state.starts_with("XX") ||
         state.starts_with("08") || state == "42501";
}

}  // namespace

void PostgresSession::Clear::operator()(pg_result* result) const { PQclear(result); }

Attempt<std::unique_ptr<Session>> PostgresSession::Open(const std::string& url, const std::string& name,
                                                        std::int64_t lock_wait_ms) {
  // What stands before dbname can be overruled by the URL, what stands after it cannot. A peer that vanishes is noticed within half a minute.
  const char* keys[] = {"connect_timeout",
                        "tcp_user_timeout",
                        "keepalives_idle",
                        "keepalives_interval",
                        "keepalives_count",
                        "application_name",
                        "dbname",
                        "client_encoding",
                        nullptr};
  const char* values[] = {"10", "30000", "10", "5", "4", "assay", url.c_str(), "UTF8", nullptr};
  PGconn* connection = PQconnectdbParams(keys, values, 1);
  std::unique_ptr<PostgresSession> session(new PostgresSession(connection, name));
  if (PQstatus(connection) != CONNECTION_OK) {
    return tl::unexpected(
        Fault{{fmt::format("{}: cannot connect: {}", name, LastMessage(connection)), true}, Fault::Kind::kLost});
  }
  PQsetNoticeProcessor(connection, [](void*, const char*) {}, nullptr);
  const std::string settings = fmt::format(
      "SET synchronous_commit = on; SET lock_timeout = {}; SET idle_in_transaction_session_timeout = 60000", lock_wait_ms);
  if (auto set = session->Execute(settings.c_str()); !set) return tl::unexpected(std::move(set).error());
  return session;
}

PostgresSession::~PostgresSession() { PQfinish(connection_); }

Fault PostgresSession::Failure(const pg_result* result, std::string_view sql) const {
  const std::string state = Field(result, PG_DIAG_SQLSTATE);
  // What has no code does not come from the server but from libpq, which could not speak to it; its status may follow later only.
  if (PQstatus(connection_) != CONNECTION_OK || state.empty()) {
    return {{fmt::format("{}: {}: the connection was lost: {}", name_, StatementName(sql), LastMessage(connection_)), true},
            Fault::Kind::kLost};
  }
  std::string what = OneLine(Field(result, PG_DIAG_MESSAGE_PRIMARY));
  if (state == "25006") what = "a transaction that reads may not write";
  if (state == "53100") what = "the disk is full";
  return {{fmt::format("{}: {}: {}", name_, StatementName(sql), what), IsSystem(state)}, KindOf(state)};
}

Attempt<PostgresSession::Answer> PostgresSession::Checked(pg_result* result, std::string_view sql) {
  Answer answer(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return answer;
  if (status == PGRES_EMPTY_QUERY) return tl::unexpected(Fault{{"the statement is empty"}});
  return tl::unexpected(Failure(result, sql));
}

Attempt<PostgresSession::Answer> PostgresSession::Execute(const char* sql) { return Checked(PQexec(connection_, sql), sql); }

Attempt<void> PostgresSession::Begin(Access access, std::int64_t) {
  access_ = access;
  // The lock comes first: what a serializable transaction sees is settled by its first statement, however long that waits.
  if (access == Access::kAlone) {
    if (auto locked = Execute(kLock); !locked) return tl::unexpected(std::move(locked).error());
  }
  auto begun = Execute(access == Access::kRead ? "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY"
                                               : "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE");
  if (!begun) return tl::unexpected(std::move(begun).error());
  return {};
}

Attempt<std::string> PostgresSession::Prepare(std::string_view sql, const PostgresParameters& parameters) {
  std::string key = parameters.signature() + ":" + std::string(sql);
  if (const auto found = prepared_.find(key); found != prepared_.end()) return found->second;
  if (prepared_.size() >= kMostPrepared) {
    prepared_.clear();
    if (auto freed = Execute("DEALLOCATE ALL"); !freed) return tl::unexpected(std::move(freed).error());
  }
  std::string name = fmt::format("s{}", next_name_++);
  const auto prepared =
      Checked(PQprepare(connection_, name.c_str(), std::string(sql).c_str(), parameters.count(), parameters.types()), sql);
  if (!prepared) return tl::unexpected(prepared.error());
  prepared_.emplace(std::move(key), name);
  return name;
}

Attempt<Rows> PostgresSession::Run(std::string_view sql, std::span<const Value> values) {
  const PostgresParameters parameters(values);
  const auto name = Prepare(sql, parameters);
  if (!name) return tl::unexpected(name.error());
  const auto answer = Checked(PQexecPrepared(connection_, name->c_str(), parameters.count(), parameters.data(),
                                             parameters.lengths(), parameters.formats(), 1),
                              sql);
  if (!answer) return tl::unexpected(answer.error());
  return Decode(answer->get(), sql);
}

Attempt<Rows> PostgresSession::Decode(const pg_result* result, std::string_view sql) const {
  Rows rows;
  const std::string_view changed = PQcmdTuples(const_cast<pg_result*>(result));
  const std::string_view command = PQcmdStatus(const_cast<pg_result*>(result));
  if (!command.starts_with("SELECT")) std::from_chars(changed.data(), changed.data() + changed.size(), rows.changed);
  const int columns = PQnfields(result);
  for (int i = 0; i < PQntuples(result); ++i) {
    Values values;
    values.reserve(static_cast<std::size_t>(columns));
    for (int c = 0; c < columns; ++c) {
      if (PQgetisnull(result, i, c) != 0) {
        values.emplace_back(Null{});
        continue;
      }
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(PQgetvalue(result, i, c));
      auto value = FromPostgres(PQftype(result, c), {bytes, static_cast<std::size_t>(PQgetlength(result, i, c))});
      if (!value) {
        return tl::unexpected(Fault{{fmt::format(
            "{}: column {} has a type other than BIGINT, DOUBLE PRECISION, TEXT and BYTEA; cast it", StatementName(sql), c)}});
      }
      values.push_back(std::move(*value));
    }
    rows.rows.emplace_back(std::move(values));
  }
  return rows;
}

Attempt<void> PostgresSession::RunScript(std::string_view sql) {
  auto done = Execute(std::string(sql).c_str());
  if (!done) return tl::unexpected(std::move(done).error());
  return {};
}

Attempt<void> PostgresSession::Commit() {
  auto done = Execute("COMMIT");
  if (done && std::string_view(PQcmdStatus(done->get())) != "COMMIT") {
    return tl::unexpected(Fault{{fmt::format("{}: the database rolled the transaction back", name_)}});
  }
  if (done) {
    Unlock();  // where that fails the connection is gone, and the lock with it
    return {};
  }
  // A server that goes away after it was asked may have done it or not.
  if (done.error().kind == Fault::Kind::kLost && access_ != Access::kRead) done.error().error.unknown_outcome = true;
  return tl::unexpected(std::move(done).error());
}

bool PostgresSession::RollBack() {
  if (PQstatus(connection_) != CONNECTION_OK) return false;
  if (PQtransactionStatus(connection_) != PQTRANS_IDLE && !Execute("ROLLBACK")) return false;
  return Unlock();
}

bool PostgresSession::Unlock() { return access_ != Access::kAlone || Execute(kUnlock).has_value(); }

Result<std::unique_ptr<Database>> OpenPostgres(const std::string& url, const DatabaseOptions& options) {
  ASSAY_ASSIGN(const std::string name, NameOf(url));
  const SessionFactory open = [url, name, wait_ms = options.patience_ms] { return PostgresSession::Open(url, name, wait_ms); };
  ASSAY_ASSIGN(auto first, OpenFirst(open, options));
  const auto pool = std::make_shared<Pool>(options.connections, open, std::move(first));
  return std::make_unique<PooledDatabase>(name, pool, pool, options);
}

}  // namespace assay::store

#endif  // ASSAY_HAVE_POSTGRES
