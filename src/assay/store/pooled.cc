#include "assay/store/pooled.h"

#include <algorithm>
#include <optional>
#include <random>

#include "assay/base/quote.h"

namespace assay::store {
namespace {

constexpr int kMostTaken = 8;  // attempts that end because a key is taken
constexpr std::int64_t kFirstPauseMs = 4;
constexpr std::int64_t kLongestPauseMs = 250;

// What a session says. Statements are constants of the program, and whoever hands on what somebody asked for has examined it: what is refused for good is no
// fault of who asked.
Fault Refusal(Fault fault) {
  fault.error.broken = fault.kind == Fault::Kind::kFinal && !fault.error.system;
  return fault;
}

class SessionTransaction final : public Transaction {
 public:
  explicit SessionTransaction(Session& session) : session_(session) {}

  Result<Rows> Run(std::string_view sql, std::span<const Value> parameters) override {
    if (fault_) return tl::unexpected(fault_->error);
    if (Status fit = CheckParameters(parameters); !fit) {
      fault_ = Refusal(Fault{{fmt::format("{}: {}", StatementName(sql), fit.error().message)}});
      return tl::unexpected(fault_->error);
    }
    return Remember(session_.Run(sql, parameters));
  }

  Status RunScript(std::string_view sql) override {
    if (fault_) return tl::unexpected(fault_->error);
    return Remember(session_.RunScript(sql));
  }

  const std::optional<Fault>& fault() const { return fault_; }

 private:
  template <class T>
  Result<T> Remember(Attempt<T> attempt) {
    if (attempt) {
      if constexpr (std::is_void_v<T>)
        return {};
      else
        return std::move(*attempt);
    }
    fault_ = Refusal(std::move(attempt).error());
    return tl::unexpected(fault_->error);
  }

  Session& session_;
  std::optional<Fault> fault_;
};

// Random, so that transactions that got in each other's way do not meet again.
std::int64_t PauseMs(int attempt) {
  std::random_device dice;
  const std::int64_t most = std::min(kLongestPauseMs, kFirstPauseMs << std::min(attempt, 10));
  return std::uniform_int_distribution<std::int64_t>(1, most)(dice);
}

}  // namespace

std::string StatementName(std::string_view sql) {
  std::string words;  // on one line, with one space between words
  for (const char c : sql.substr(0, 200)) {
    const bool space = c == ' ' || c == '\n' || c == '\t';
    if (!space)
      words += c;
    else if (!words.empty() && words.back() != ' ')
      words += ' ';
  }
  return Quote(words);
}

Result<std::unique_ptr<Session>> OpenFirst(const SessionFactory& open, const DatabaseOptions& options) {
  const std::int64_t deadline_ms = options.clock->SteadyMs() + options.patience_ms;
  for (int attempt = 0;; ++attempt) {
    auto session = open();
    if (session) return std::move(*session);
    const std::int64_t pause_ms = PauseMs(attempt);
    if (session.error().kind != Fault::Kind::kConflict || options.clock->SteadyMs() + pause_ms >= deadline_ms) {
      return tl::unexpected(std::move(session).error().error);
    }
    options.clock->SleepMs(pause_ms);
  }
}

Attempt<void> PooledDatabase::Once(Access access, const Body& body, std::int64_t wait_ms) {
  auto loan = (access == Access::kRead ? readers_ : writers_)->Take(wait_ms);
  if (!loan) return tl::unexpected(Refusal(std::move(loan).error()));
  Session& session = loan->session();
  auto begun = session.Begin(access, wait_ms);
  if (!begun) {
    if (begun.error().kind == Fault::Kind::kLost || !session.RollBack()) loan->Drop();
    return tl::unexpected(Refusal(std::move(begun).error()));
  }
  SessionTransaction transaction(session);
  Status done = body(transaction);
  Attempt<void> ended;
  if (transaction.fault()) {
    ended = tl::unexpected(*transaction.fault());
  } else if (!done) {
    ended = tl::unexpected(Fault{std::move(done).error()});
  } else {
    ended = session.Commit();
    if (ended) return ended;
    ended = tl::unexpected(Refusal(std::move(ended).error()));
  }
  if (ended.error().kind == Fault::Kind::kLost || !session.RollBack()) loan->Drop();
  return ended;
}

Status PooledDatabase::Transact(Access access, const Body& body) {
  const std::int64_t deadline_ms = options_.clock->SteadyMs() + options_.patience_ms;
  for (int attempt = 0;; ++attempt) {
    const std::int64_t left_ms = std::max<std::int64_t>(deadline_ms - options_.clock->SteadyMs(), 0);
    Attempt<void> done = Once(access, body, left_ms);
    if (done) return {};
    Fault fault = std::move(done).error();
    // Whoever finds the key there once more, with what the others have done before its eyes, wants what cannot be.
    if (fault.kind == Fault::Kind::kTaken && attempt + 1 >= kMostTaken) {
      fault.kind = Fault::Kind::kFinal;
      fault.error.broken = true;
    }
    if (fault.kind == Fault::Kind::kFinal || fault.error.unknown_outcome) return tl::unexpected(std::move(fault.error));
    const std::int64_t pause_ms = PauseMs(attempt);
    if (options_.clock->SteadyMs() + pause_ms >= deadline_ms) {
      fault.error.message += fmt::format("; gave up after {} ms", options_.patience_ms);
      fault.error.system = true;
      return tl::unexpected(std::move(fault.error));
    }
    options_.clock->SleepMs(pause_ms);
  }
}

}  // namespace assay::store
