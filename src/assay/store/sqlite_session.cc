#include "assay/store/sqlite_session.h"

#ifdef ASSAY_HAVE_SQLITE

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/store/pooled.h"

namespace assay::store {
namespace {

constexpr std::string_view kMemory = ":memory:";
constexpr std::size_t kMostPrepared = 256;
constexpr int kOpeningWaitMs = 10'000;

// Makes the file, readable to its owner alone, which SQLite's own files beside it then are too; and says what the system says where that
// cannot be done, since SQLite says the same of every failure to open.
//
// A file that is there is looked at and not opened: closing any descriptor of it would end the locks of all sessions of this process, and another process,
// which then takes itself for the last, would remove the write-ahead log from under them.
Status MakeFile(const std::string& path) {
  const auto failed = [&](std::string_view what, int number) {
    return tl::unexpected(Error{fmt::format("{}: cannot {}: {}", path, what, std::generic_category().message(number)), true});
  };
  struct stat there{};
  if (::stat(path.c_str(), &there) == 0) {
    if (S_ISDIR(there.st_mode)) return failed("open", EISDIR);
    if (!S_ISREG(there.st_mode)) return failed("open", EINVAL);
    if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) != 0) return failed("open", errno);
    return {};
  }
  const int created = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (created < 0 && errno == EEXIST) return {};  // by somebody else, since it was looked for
  if (created < 0) return failed("create", errno);
  ::close(created);
  const std::size_t slash = path.find_last_of('/');
  return SyncDirectory(slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash));
}

int Bind(sqlite3_stmt* statement, int index, const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return sqlite3_bind_int64(statement, index, *integer);
  if (const auto* real = std::get_if<double>(&value)) return sqlite3_bind_double(statement, index, *real);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  if (const auto* bytes = std::get_if<Bytes>(&value)) {
    // A null pointer would be a null, not an empty sequence.
    return sqlite3_bind_blob64(statement, index, bytes->empty() ? reinterpret_cast<const void*>("") : bytes->data(),
                               bytes->size(), SQLITE_STATIC);
  }
  return sqlite3_bind_null(statement, index);
}

Value Column(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER: return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
      return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement, column));
      return Bytes(bytes, bytes + sqlite3_column_bytes(statement, column));
    }
    default: return Null{};
  }
}

}  // namespace

Attempt<std::unique_ptr<Session>> SqliteSession::Open(const std::string& path) {
  if (path != kMemory) {
    if (Status made = MakeFile(path); !made) return tl::unexpected(Fault{made.error()});
  }
  sqlite3* handle = nullptr;
  // Whoever has the session has it alone, so SQLite need not lock it.
  const int opened =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  std::unique_ptr<SqliteSession> session(new SqliteSession(handle, path));
  if (opened != SQLITE_OK) return tl::unexpected(session->Failure(opened, "cannot open"));
  sqlite3_busy_timeout(handle, kOpeningWaitMs);
  // The log lets readers read while one writes. FULL: a commit is on the disk when it returns.
  for (const char* setting : {"PRAGMA foreign_keys = ON", "PRAGMA synchronous = FULL", "PRAGMA trusted_schema = OFF"}) {
    if (auto set = session->Execute(setting); !set) return tl::unexpected(set.error());
  }
  session->writes_ = true;
  auto mode = session->Run("PRAGMA journal_mode = WAL", {});
  if (!mode) return tl::unexpected(mode.error());
  const auto name = mode->empty() ? Result<std::string>("") : (*mode)[0].Text(0);
  if (path != kMemory && (!name || *name != "wal")) {
    return tl::unexpected(Fault{{fmt::format("{}: the file system does not allow a write-ahead log", path), true}});
  }
  return session;
}

SqliteSession::~SqliteSession() {
  for (const auto& [sql, statement] : prepared_) sqlite3_finalize(statement);
  sqlite3_close_v2(handle_);
}

Fault SqliteSession::Failure(int code, std::string_view doing) const {
  using Kind = Fault::Kind;
  const auto fault = [&](std::string_view what, bool system, Kind kind = Kind::kFinal) {
    return Fault{{fmt::format("{}: {}: {}", path_, doing, what), system}, kind};
  };
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return fault("another process keeps it locked", true, Kind::kConflict);
    case SQLITE_FULL: return fault("the disk is full", true);
    case SQLITE_NOTADB: return fault("the file is not a database", false);
    case SQLITE_CORRUPT: return fault("the database is damaged", false);
    case SQLITE_READONLY:
      if (!writes_ && code == SQLITE_READONLY) return fault("a transaction that reads may not write", false);
      return fault("no permission to write", true);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_NOMEM: {
      const int number = sqlite3_system_errno(handle_);
      if (number == ENOSPC || number == EDQUOT || number == EFBIG) return fault("the disk is full", true);
      const std::string reason = number == 0 ? sqlite3_errstr(code) : std::generic_category().message(number);
      return fault(reason, true);
    }
    default: return fault(OneLine(sqlite3_errmsg(handle_)), false);
  }
}

Fault SqliteSession::StatementFailure(int code, std::string_view sql) const { return Failure(code, StatementName(sql)); }

Attempt<void> SqliteSession::Execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return tl::unexpected(StatementFailure(code, sql));
  return {};
}

// The beginning or the end of a transaction, kept prepared like every statement that comes often.
Attempt<void> SqliteSession::Bracket(const char* sql) {
  auto statement = Prepare(sql);
  if (!statement) return tl::unexpected(std::move(statement).error());
  const int code = sqlite3_step(*statement);
  Attempt<void> done;
  if (code != SQLITE_DONE) done = tl::unexpected(StatementFailure(code, sql));
  sqlite3_reset(*statement);
  return done;
}

Attempt<void> SqliteSession::Begin(Access access, std::int64_t wait_ms) {
  sqlite3_busy_timeout(handle_, static_cast<int>(std::clamp<std::int64_t>(wait_ms, 1, std::numeric_limits<int>::max())));
  writes_ = access != Access::kRead;
  // Taking the lock for writing at once, no transaction reads first and finds later that it may not write. It also makes each of them alone.
  return Bracket(writes_ ? "BEGIN IMMEDIATE" : "BEGIN");
}

Attempt<sqlite3_stmt*> SqliteSession::Prepare(std::string_view sql) {
  if (const auto found = prepared_.find(sql); found != prepared_.end()) return found->second;
  if (prepared_.size() >= kMostPrepared) {
    for (const auto& [text, statement] : prepared_) sqlite3_finalize(statement);
    prepared_.clear();
  }
  sqlite3_stmt* statement = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, &rest);
  if (code != SQLITE_OK) return tl::unexpected(StatementFailure(code, sql));
  const std::string_view left(rest, static_cast<std::size_t>(sql.data() + sql.size() - rest));
  if (statement == nullptr || left.find_first_not_of(" \n\t;") != std::string_view::npos) {
    sqlite3_finalize(statement);
    return tl::unexpected(Fault{{fmt::format("{}: expected one statement", StatementName(sql))}});
  }
  prepared_.emplace(sql, statement);
  return statement;
}

Attempt<Rows> SqliteSession::Run(std::string_view sql, std::span<const Value> parameters) {
  auto statement = Prepare(sql);
  if (!statement) return tl::unexpected(std::move(statement).error());
  // The pragma that says the same would have every prepared statement compiled anew.
  if (!writes_ && sqlite3_stmt_readonly(*statement) == 0) return tl::unexpected(StatementFailure(SQLITE_READONLY, sql));
  if (sqlite3_bind_parameter_count(*statement) != static_cast<int>(parameters.size())) {
    return tl::unexpected(Fault{{fmt::format("{}: has {} parameters, got {}", StatementName(sql),
                                             sqlite3_bind_parameter_count(*statement), parameters.size())}});
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    // To SQLite $1 is a name, which may stand anywhere.
    const int index = sqlite3_bind_parameter_index(*statement, fmt::format("${}", i + 1).c_str());
    if (index == 0) return tl::unexpected(Fault{{fmt::format("{}: has no parameter ${}", StatementName(sql), i + 1)}});
    if (const int code = Bind(*statement, index, parameters[i]); code != SQLITE_OK)
      return tl::unexpected(StatementFailure(code, sql));
  }
  auto rows = Step(*statement, sql);
  sqlite3_reset(*statement);
  sqlite3_clear_bindings(*statement);
  return rows;
}

Attempt<Rows> SqliteSession::Step(sqlite3_stmt* statement, std::string_view sql) {
  Rows rows;
  const int columns = sqlite3_column_count(statement);
  const std::int64_t before = sqlite3_total_changes64(handle_);
  for (;;) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) break;
    if (code != SQLITE_ROW) return tl::unexpected(StatementFailure(code, sql));
    Values values;
    values.reserve(static_cast<std::size_t>(columns));
    for (int i = 0; i < columns; ++i) values.push_back(Column(statement, i));
    rows.rows.emplace_back(std::move(values));
  }
  // The count of the last statement that changed anything stays until the next does; the rows that foreign keys change are not counted in it.
  if (sqlite3_total_changes64(handle_) != before) rows.changed = sqlite3_changes64(handle_);
  return rows;
}

Attempt<void> SqliteSession::RunScript(std::string_view sql) {
  if (writes_) return Execute(std::string(sql).c_str());
  if (auto set = Execute("PRAGMA query_only = ON"); !set) return set;
  auto done = Execute(std::string(sql).c_str());
  if (auto set = Execute("PRAGMA query_only = OFF"); !set) return set;
  return done;
}

Attempt<void> SqliteSession::Commit() {
  auto done = Bracket("COMMIT");
  if (done) return done;
  // After an error of the disk the end of the log may be there or not when the file is opened next.
  const int code = sqlite3_extended_errcode(handle_);
  if (writes_ && (code & 0xff) == SQLITE_IOERR) {
    done.error().error.unknown_outcome = true;
    done.error().kind = Fault::Kind::kLost;
  }
  return done;
}

bool SqliteSession::RollBack() {
  // Some failures have rolled back already.
  if (sqlite3_get_autocommit(handle_) == 0) return Bracket("ROLLBACK").has_value();
  return true;
}

Result<std::unique_ptr<Database>> OpenSqlite(const std::string& path, const DatabaseOptions& options) {
  const SessionFactory open = [path] { return SqliteSession::Open(path); };
  ASSAY_ASSIGN(auto first, OpenFirst(open, options));
  if (path == kMemory) {
    // There is no second way into this one, and its content ends with its only session.
    const SessionFactory lost = []() -> Attempt<std::unique_ptr<Session>> {
      return tl::unexpected(Fault{{"the database in memory is lost", true}});
    };
    const auto pool = std::make_shared<Pool>(1, lost, std::move(first));
    return std::make_unique<PooledDatabase>(path, pool, pool, options);
  }
  return std::make_unique<PooledDatabase>(path, std::make_shared<Pool>(1, open, std::move(first)),
                                          std::make_shared<Pool>(options.connections, open), options);
}

}  // namespace assay::store

#endif  // ASSAY_HAVE_SQLITE
