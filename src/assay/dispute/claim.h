// Claim: a signed receipt, as what one party asserts about a job. Claims that say the same form a group. Value type; pure functions.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "assay/base/result.h"
#include "assay/dispute/terms.h"
#include "assay/merkle/key.h"
#include "assay/run/receipt.h"

namespace assay::dispute {

struct Claim {
  Receipt receipt;
  VerifyKey signer;
  Digest receipt_hash{};  // SHA-256 of the file
};

// Reads a receipt that names its own signer and checks its signature; whether that signer is the one who was asked is the caller's to compare.
Result<Claim> OpenClaim(std::string_view receipt_file, std::string_view what);

// Whether the receipt is one of this job: ids, data, number of steps, length of the log. What is not is refused before any game.
Status CheckClaim(const Claim& claim, const Terms& terms);

// What claims are grouped by: everything a receipt says of the run, without who signed it and the file of weights.
Digest GroupOf(const Claim& claim);

// "assay/dispute/1", the job id, the receipts' hashes in ascending order, and 32 bytes by which disputes about the same receipts differ.
Digest DisputeId(const Terms& terms, std::span<const Claim> claims, const Digest& nonce);

}  // namespace assay::dispute
