// What commands that draw a sample take: how large, and the nonce that it is drawn by.
#pragma once

#include <string>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay::cli {

// "10%" or "10": above 0, at most 100. Without its sign 0.1 may be meant as a share or as a percentage, and is refused.
Result<double> ParsePercent(const std::string& option, const std::string& text);
// Hex digits; of an empty text, fresh randomness.
Result<Bytes> ParseNonce(const std::string& text);

}  // namespace assay::cli
