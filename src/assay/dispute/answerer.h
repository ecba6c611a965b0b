// Answerer: a provider's side of disputes: openings and questions in, the bytes of signed answers out.
//
// Who may ask, and how much, the docket says. What cannot be answered, for whatever reason, is not signed: it is denied, for good or for now. Answers that were given are remembered up to a
// number of bytes. Thread safe: the account works for one question at a time, pinned referees' first; others wait, at most so many of each sort. Answers that are remembered come at once.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "assay/dispute/account.h"
#include "assay/dispute/bounded_cache.h"
#include "assay/dispute/docket.h"
#include "assay/dispute/fees.h"
#include "assay/sign/key.h"

namespace assay::dispute {

// What became of an opening, for whoever looks after the provider.
struct OpeningNote {
  KeyPoint referee{};
  std::string refused{};        // why; empty: it is open
  bool pinned = false;          // its referee is
  std::int64_t bouts = 0;       // that were set aside for it, or that it may take
  std::int64_t bouts_left = 0;  // for all referees that are not pinned
};

struct AnswererOptions {
  std::size_t max_cached_bytes = std::size_t{64} << 20;  // of answers
  std::size_t max_waiting = 2;                           // questions of referees that are not pinned
  std::size_t max_waiting_pinned = 4;                    // and of those that are
  std::function<void(const OpeningNote&)>
      note{};  // of every dispute that is opened for the first time or refused; one call at a time
};

class Answerer {
 public:
  // Both must outlive it. Whether the key is that of the account's receipt is the caller's to know.
  Answerer(Account& account, const SigningKey& key, Docket docket, const AnswererOptions& options = {});

  // What was wrong with a message, and whether it can ever be right. kFailed: this machine failed, and why is nobody else's business.
  struct Failure {
    enum class Kind : std::uint8_t { kMalformed, kNotOpen, kForbidden, kLater, kFailed } kind{};
    std::string why;
  };
  template <class T>
  using Outcome = tl::expected<T, Failure>;

  Outcome<Digest> Open(ByteSpan opening);    // the dispute's id
  Outcome<Bytes> Answer(ByteSpan question);  // with its signature, as SignQuestion writes it

  std::size_t cached_bytes() const;
  std::size_t waiting() const;  // questions that are being answered or wait for it

 private:
  class Turn;

  Account& account_;
  const SigningKey& key_;
  const AnswererOptions options_;
  mutable std::mutex mutex_;  // over all that follows
  std::condition_variable changed_;
  Docket docket_;
  Fees fees_;
  BoundedCache<Digest, Bytes> answers_;  // by the hash of the question
  bool busy_ = false;                    // the account works
  std::size_t waiting_[2] = {0, 0};      // not pinned, pinned; with the one that is being answered
};

// The docket of who has this account: its job and receipt, and what a receipt has to be to contradict it. An error: the account is of no dispute.
Result<Docket> DocketOf(const Account& account, const Docket::Options& options);

}  // namespace assay::dispute
