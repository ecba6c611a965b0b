// Sample: which segments of a run an audit replays (docs/formats/life.md, "Audit report"). They are drawn by the receipt, by the nonce of the coordinator and by a share
// that the auditor draws itself and shows with its report: none of the three who make these can choose alone. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/run/receipt.h"

namespace assay::life {

// Runs with more segments are not verified by a sample: whoever reads a life draws every sample again.
inline constexpr std::int64_t kMaxSegments = std::int64_t{1} << 18;

// What the sample is drawn by besides the receipt: both are 64 hex digits.
Result<Bytes> SampleNonce(const std::string& nonce, const std::string& share);
// The segments that were replayed, ascending, as a report names them.
std::string SampleHash(const std::vector<std::int64_t>& drawn);
// The same of the segments that have to be.
Result<std::string> SampleOf(const Receipt& receipt, const Digest& receipt_hash, const std::string& nonce,
                             const std::string& share, std::int64_t percent);

}  // namespace assay::life
