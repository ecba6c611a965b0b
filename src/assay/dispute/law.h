// Law: all that the game of many providers knows about the job it is played over, as functions, so that the same game can be played over a model of it.
// LawOf gives the law of real jobs. Immutable once made; thread safe if its functions are.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "assay/base/result.h"
#include "assay/dispute/answer.h"
#include "assay/dispute/claim.h"
#include "assay/dispute/examine.h"
#include "assay/dispute/question.h"

namespace assay::dispute {

struct Law {
  std::function<Outcome(const Claim& a, const Claim& b, const Testimony& said_a, const Testimony& said_b)> examine;
  std::function<Status(const Claim& claim)> check;
  std::function<Digest(const Claim& claim)> group;
  std::function<Digest(std::span<const Claim> claims)> dispute;  // the id, from the claims that take part
  std::function<bool(const Answer& answer, ByteSpan question, const VerifyKey& key)> is_signed;
  // The leaves of the log in the body of an answer, proven against the claim's receipt.
  std::function<Result<std::vector<Bytes>>(const Claim& claim, const LeavesQuestion& question, ByteSpan body)> open_log;
  // The entry of the log inside which a question lies; none for questions about the log itself.
  std::function<std::optional<std::int64_t>(const Question& question)> entry;
  // The most bytes that the encoding of an answer to this question has. What is longer is dropped unread.
  std::function<std::size_t(const Question& question)> max_answer_bytes;
  bool one_claim_per_key = true;
};

// How a comparison of two runs on one machine differs from a dispute among parties who do not trust each other.
struct LawOptions {
  bool pair =
      false;  // two runs on one machine, which may be of one signer; otherwise two receipts of one key convict its owner
  // Whose answers need no signature: they count because of where they came from.
  std::vector<VerifyKey> unsigned_answers{};
};

// `nonce` is what tells this dispute from others about the same receipts.
std::shared_ptr<const Law> LawOf(std::shared_ptr<const Terms> terms, const Digest& nonce, const LawOptions& options);

}  // namespace assay::dispute
