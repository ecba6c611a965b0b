// One segment of a log of decisions: up to 4096 of them, coded by themselves (docs/formats/rounding.md). Pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/rounding/follow.h"

namespace assay::rounding {

inline constexpr std::size_t kSegment = 4096;  // decisions
// No segment is longer: a decision has at most 29 bits by models, each of which costs at most 9 bits, and 77 raw ones; that is less than 43 bytes.
inline constexpr std::size_t kMaxSegmentBytes = 43 * kSegment;

// Decisions ascend; the position of the first is not coded.
Bytes EncodeSegment(std::span<const Decision> decisions);
// Decisions about elements of [begin, end), the first about `begin`.
Status DecodeSegment(ByteSpan coded, std::uint64_t begin, std::uint64_t end, std::span<Decision> decisions);

}  // namespace assay::rounding
