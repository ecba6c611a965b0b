// The published rule of optimistic verifiable training, to measure against (docs/ROUNDING.md, section 6): every element has one of three symbols. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/numerics/grid.h"

namespace assay::rounding {

inline constexpr std::uint8_t kWentDown = 0;
inline constexpr std::uint8_t kNotClose = 1;
inline constexpr std::uint8_t kWentUp = 2;

// What who trains writes about y: which way it was rounded, if it is farther from its rounded value than tau times the power of two below |y|.
std::uint8_t PaperSymbol(const numerics::Grid& grid, double y, double tau);
// What who follows rounds its own y to.
float PaperFollow(const numerics::Grid& grid, double y, std::uint8_t symbol);

// Five symbols to a byte, compressed (docs/formats/rounding.md).
Bytes EncodePaperLog(std::span<const std::uint8_t> symbols);
Result<std::vector<std::uint8_t>> DecodePaperLog(ByteSpan bytes, std::string_view what);

// An element that two evaluations rounded differently: how far from its rounded value it was, and the power of two below its magnitude.
struct TauSample {
  double distance = 0;
  double scale = 0;
};
TauSample TauSampleAt(const numerics::Grid& grid, double y);
// The largest threshold found by binary search under which all samples would have been written: 2^-25 or above, below half a spacing.
double FindTau(int bits, std::span<const TauSample> samples, int iterations = 32);

}  // namespace assay::rounding
