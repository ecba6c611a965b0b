// Session: one connection to a database, with one transaction at a time. What an implementation of a database has to provide; `pooled.h` makes
// a Database of it. Not synchronised: whoever has taken a session from the pool has it alone.
//
// A session says of every failure what it means for the transaction, because only the database's own codes tell that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "assay/base/result.h"
#include "assay/store/database.h"
#include "assay/store/value.h"

namespace assay::store {

struct Fault {
  enum class Kind {
    kFinal,     // it would fail again
    kConflict,  // another transaction was in the way; nothing has happened, and the session can go on
    kTaken,  // a key is there already: kConflict if another transaction has put it there meanwhile, kFinal if this one may not have it at all
    kLost,   // the session cannot go on; nothing has happened, unless a commit was under way
  };
  Error error;
  Kind kind = Kind::kFinal;
};
template <class T>
using Attempt = tl::expected<T, Fault>;

class Session {
 public:
  virtual ~Session() = default;
  // Waits for others no longer than `wait_ms`.
  virtual Attempt<void> Begin(Access access, std::int64_t wait_ms) = 0;
  virtual Attempt<Rows> Run(std::string_view sql, std::span<const Value> parameters) = 0;
  virtual Attempt<void> RunScript(std::string_view sql) = 0;
  // An error with `unknown_outcome` where it cannot be told whether it happened.
  virtual Attempt<void> Commit() = 0;
  // Ends a transaction that was not committed; false where the session cannot go on.
  virtual bool RollBack() = 0;
};

using SessionFactory = std::function<Attempt<std::unique_ptr<Session>>()>;

// What a statement is called in messages: the beginning of its text. Parameters are never part of a message.
std::string StatementName(std::string_view sql);

// The implementations; errors where the build lacks the library.
Result<std::unique_ptr<Database>> OpenSqlite(const std::string& path, const DatabaseOptions& options);
Result<std::unique_ptr<Database>> OpenPostgres(const std::string& url, const DatabaseOptions& options);

}  // namespace assay::store
