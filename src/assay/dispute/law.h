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
  // Whether a claim is one about this job; others take no part.
  std::function<Status(const Claim& claim)> check;
  std::function<Digest(const Claim& claim)> group;
  // Whether a key takes part with one claim alone, so that what it signs in a dispute is about that one. Not in comparisons, whose answers nobody else asks for.
  bool one_claim_per_key = true;
  // Whether one key cannot have signed both honestly. Both are claims about this job, of different groups.
  std::function<bool(const Claim& a, const Claim& b)> contradict;
  std::function<Digest(std::vector<Digest> receipts)> dispute;  // the id, from the hashes of the receipts that it is about
  std::function<bool(const Answer& answer, ByteSpan question, const VerifyKey& key)> is_signed;
  // The leaves of the log in the body of an answer, proven against the claim's receipt.
  std::function<Result<std::vector<Bytes>>(const Claim& claim, const LeavesQuestion& question, ByteSpan body)> open_log;
  // The entry of the log inside which a question lies; none for questions about a receipt.
  std::function<std::optional<std::int64_t>(const Question& question)> entry;
  // The most bytes that the encoding of an answer to this question has. What is longer is dropped unread.
  std::function<std::size_t(const Question& question)> max_answer_bytes;
};

// Whose dispute it is, and how a comparison of two runs on one machine differs from a dispute among parties who do not trust each other.
struct LawOptions {
  KeyPoint referee{};
  Digest nonce{};     // what tells this dispute from others about the same receipts
  bool pair = false;  // two runs on one machine, which may be of one signer
  // Whose answers need no signature: they count because of where they came from.
  std::vector<VerifyKey> unsigned_answers{};
};

std::shared_ptr<const Law> LawOf(std::shared_ptr<const Terms> terms, const LawOptions& options);

}  // namespace assay::dispute
