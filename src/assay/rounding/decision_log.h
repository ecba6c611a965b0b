// The log of a step's decisions as bytes: gaps between positions and the decisions themselves, entropy-coded (docs/formats/rounding.md). Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/rounding/decision.h"

namespace assay::rounding {

inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 56;

// `decisions` ascend by position, all below `elements`, which is at most kMaxElements.
Bytes EncodeDecisions(std::span<const Decision> decisions, std::uint64_t elements);

struct DecisionLog {
  std::uint64_t elements = 0;  // with a bound, in the whole step
  std::vector<Decision> decisions;
};
// Accepts exactly what EncodeDecisions writes. Bytes may come from anyone: memory is at most some hundred times their number (a decision takes at least a bit).
Result<DecisionLog> DecodeDecisions(ByteSpan bytes, std::string_view what);

}  // namespace assay::rounding
