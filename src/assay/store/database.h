// Database: rows that survive, behind one thin interface for SQLite (a file of one machine) and PostgreSQL (shared by several processes).
//
// All work is done in transactions, which are serializable: their effect is that of running them one after the other. A transaction is a
// function that gets a Transaction and runs statements on it. It is committed when the function returns a value, and rolled back when it
// returns an error or when a statement failed, whatever the function made of that. A value that Write or Read returns was durable first.
//
//     Result<std::int64_t> balance = database->Write([&](Transaction& t) -> Result<std::int64_t> {
//       ASSAY_TRY(t.Run("UPDATE account SET balance = balance + $2 WHERE id = $1", {id, std::int64_t{5}}));
//       ASSAY_ASSIGN(const Rows rows, t.Run("SELECT balance FROM account WHERE id = $1", {id}));
//       if (rows.empty()) return Err("account {}: does not exist", id);
//       return rows[0].Integer(0);
//     });
//
// The function may be called several times: a transaction that another one got in the way of, or whose connection was lost before the commit,
// is tried again until `patience_ms` is over. So it must do nothing but run statements and compute, and must not start another transaction.
//
// Where a connection is lost during the commit nobody can say whether it happened. That is an error with `unknown_outcome` set. Whoever asked
// repeats the request, and requests are made so that a repetition does no harm: they carry ids, and statements say ON CONFLICT.
//
// Errors are one line and name the database without its password. `Error::system` is set where the database or the machine failed, not the
// statement: it is full, locked for too long, not to be reached, not permitted. `Error::broken` is set where it refuses a statement
// for good, or answers what the program cannot read: whoever asked has done nothing wrong, and should not read it.
//
// The dialect is what both databases understand. Parameters are written $1 to $n, and their kind is that of the value. Column types are
// BIGINT, DOUBLE PRECISION, TEXT and BYTEA. INSERT ... ON CONFLICT, RETURNING, WITH and CAST(... AS BIGINT) mean the same in both; a SUM
// needs such a cast. Foreign keys are enforced.
//
// Thread safe. In SQLite one transaction writes at a time while others read; in PostgreSQL as many run as there are connections.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "assay/base/result.h"
#include "assay/store/clock.h"
#include "assay/store/value.h"

namespace assay::store {

// A transaction under way, valid during the call of the function that it was given to, in its thread.
class Transaction {
 public:
  virtual ~Transaction() = default;
  // One statement. The text should be a constant, since the prepared form of every text is kept for the next time. After an error every
  // further statement of the transaction is that error.
  virtual Result<Rows> Run(std::string_view sql, std::span<const Value> parameters) = 0;
  Result<Rows> Run(std::string_view sql, std::initializer_list<Value> parameters = {}) {
    return Run(sql, std::span<const Value>(parameters.begin(), parameters.size()));
  }
  // Statements without parameters and answers, divided by semicolons, such as those that make tables.
  virtual Status RunScript(std::string_view sql) = 0;
};

enum class Access {
  kRead,   // statements that change anything are errors
  kWrite,  // may change anything
  kAlone,  // the same, and no other kAlone transaction runs anywhere at that time, nor begins to look at the database before this one ended
};

struct DatabaseOptions {
  std::int64_t patience_ms = 10'000;  // for how long a transaction waits for others and is tried again
  int connections = 4;                // of PostgreSQL, and of readers of SQLite
  std::shared_ptr<Clock> clock = SystemClock();
};

class Database {
 public:
  // `where`: the path of a file, which is created if needed and readable to its owner alone; ":memory:" for one that ends with the object;
  // or postgresql://USER:PASSWORD@HOST:PORT/NAME with libpq's options, user and password percent-encoded.
  static Result<std::unique_ptr<Database>> Open(std::string_view where, const DatabaseOptions& options = {});
  virtual ~Database() = default;

  // One transaction. `function` takes a Transaction& and returns a Result or a Status, which is the result.
  template <class Function>
  auto Write(Function&& function) {
    return In(Access::kWrite, function);
  }
  template <class Function>
  auto Read(Function&& function) {
    return In(Access::kRead, function);
  }
  template <class Function>
  auto In(Access access, Function&& function);

  // What Write and Read stand on: an implementation's part.
  using Body = std::function<Status(Transaction& transaction)>;
  virtual Status Transact(Access access, const Body& body) = 0;

  // For messages: the path, or the URL without its password.
  virtual const std::string& name() const = 0;
};

template <class Function>
auto Database::In(Access access, Function&& function) {
  using Outcome = std::invoke_result_t<Function&, Transaction&>;
  if constexpr (std::is_same_v<Outcome, Status>) {
    return Transact(access, [&](Transaction& transaction) { return function(transaction); });
  } else {
    std::optional<Outcome> outcome;
    const Status done = Transact(access, [&](Transaction& transaction) -> Status {
      outcome.emplace(function(transaction));
      if (!*outcome) return tl::unexpected(outcome->error());
      return {};
    });
    if (!done) return Outcome(tl::unexpected(done.error()));
    return Outcome(std::move(*outcome));
  }
}

}  // namespace assay::store
