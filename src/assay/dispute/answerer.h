// Answerer: a provider's side of disputes: the bytes of a question in, the bytes of a signed answer out.
//
// Questions come from anyone. Each dispute gets a budget of work, after which it is refused what would cost more; a dispute's id holds a secret of its
// referee, so nobody else can use the budget up. Answers that were given are remembered up to a number of bytes. Thread safe: the account works for one question at a
// time, others wait, at most so many; answers that are remembered come at once.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "assay/dispute/account.h"
#include "assay/dispute/bounded_cache.h"
#include "assay/merkle/key.h"

namespace assay::dispute {

struct AnswererOptions {
  std::optional<Work> budget{};     // of one dispute; none: without end. The question that exceeds it is still answered
  std::size_t max_disputes = 1024;  // whose work is remembered, those that asked last
  std::size_t max_cached_bytes = std::size_t{64} << 20;  // of answers
  std::size_t max_waiting = 64;                          // questions
};

class Answerer {
 public:
  // Both must outlive it. Whether the key is that of the account's receipt is the caller's to know.
  Answerer(Account& account, const SigningKey& key, const AnswererOptions& options);

  // An error is no answer, and nothing is signed: these are not the bytes of a question, this machine failed, or too many wait.
  Result<Bytes> Answer(ByteSpan question);

  std::size_t cached_bytes() const;
  std::size_t waiting() const;  // questions that are being answered or wait for it

 private:
  Result<Bytes> Compute(ByteSpan question, const AddressedQuestion& addressed);
  bool Enter();  // false: no place to wait
  void Leave();
  std::optional<Bytes> Cached(ByteSpan question);
  bool IsSpent(const Digest& dispute);
  void Charge(const Digest& dispute, const Work& before, const Work& after);

  Account& account_;
  const SigningKey& key_;
  const AnswererOptions options_;
  std::mutex account_mutex_;             // taken before the other
  mutable std::mutex mutex_;             // over what follows
  BoundedCache<Digest, Bytes> answers_;  // by the hash of the question
  BoundedCache<Digest, Work> spent_;     // a dispute counts as one byte
  std::size_t waiting_ = 0;
};

}  // namespace assay::dispute
