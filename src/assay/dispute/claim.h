// Claim: a signed receipt, as what one party asserts about a job. Claims that say the same form a group. Value type; pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"
#include "assay/dispute/terms.h"
#include "assay/run/receipt.h"
#include "assay/sign/key.h"

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

// What claims are grouped by: everything a receipt promises about the run. Who signed it, how often snapshots were kept, and what else the file of weights holds
// beside its tensors are no part of it.
Digest GroupOf(const Claim& claim);

using KeyPoint = std::array<std::uint8_t, 32>;  // an Ed25519 public key without its name

// What a dispute is: about which receipts of which job, and whose. Its id binds all of it.
struct DisputeName {
  Digest job{};
  KeyPoint referee{};
  std::vector<Digest> receipts{};  // their hashes, in whatever order
  Digest nonce{};                  // tells disputes about the same receipts apart
  bool pair =
      false;  // a comparison of two runs on one machine: answers are worth nothing in a dispute, and the other way round
};
Digest DisputeId(DisputeName name);

}  // namespace assay::dispute
