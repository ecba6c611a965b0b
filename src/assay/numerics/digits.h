// Exact integer contractions (docs/NUMERICS.md, section 7): how a block of values becomes integers of two or three digits to base 256, and how sums of
// products of digits become a value again. One source for hosts and devices. Pure; thread safe.
#pragma once

#include <bit>
#include <cstdint>

#include "assay/numerics/fma.h"
#include "assay/numerics/host_device.h"

namespace assay::numerics {

// Values that share a scale: of a matmul or a convolution at most so many.
inline constexpr std::int64_t kDigitBlock = 256;

// `largest` is the greatest bit pattern of the magnitudes in a block. The biased exponent of its scale, or 0 if a value is infinite or NaN.
ASSAY_HD constexpr std::uint32_t DigitExponent(std::uint32_t largest) {
  if (largest >= 0x7f800000u) return 0;
  const std::uint32_t exponent = (largest >> 23) + ((largest & 0x7fffffu) > 0x7efefeu ? 1u : 0u);
  return exponent < 23u ? 23u : exponent;
}

// What values of the block are multiplied by before they are rounded to integers: a power of two, or 0 for a block that is not finite.
ASSAY_HD constexpr float DigitFactor(std::uint32_t exponent, int digits) {
  return exponent == 0 ? 0.0f : std::bit_cast<float>((252u + 8u * static_cast<std::uint32_t>(digits) - exponent) << 23);
}

// What a joined sum is multiplied by for one operand: a power of two, or NaN for a block that is not finite.
ASSAY_HD constexpr float DigitScale(std::uint32_t exponent, int digits) {
  return std::bit_cast<float>(exponent == 0 ? 0x7fc00000u : (exponent - 2u - 4u * static_cast<std::uint32_t>(digits)) << 23);
}

// The integer of a value of a finite block: x · factor, rounded to nearest, ties to even.
ASSAY_HD inline std::int32_t DigitInteger(float x, float factor) {
  const float scaled = x * factor;
  const auto whole = static_cast<std::int32_t>(scaled);
  const float rest = scaled - static_cast<float>(whole), size = rest < 0 ? -rest : rest;
  const bool away = size > 0.5f || (size == 0.5f && (whole & 1) != 0);
  return away ? whole + (rest < 0 ? -1 : 1) : whole;
}

// The digits of an integer, each as a byte in two's complement, the lowest in the lowest byte. With two digits the third byte means nothing.
ASSAY_HD constexpr std::uint32_t DigitBytes(std::int32_t integer) {
  return (static_cast<std::uint32_t>(integer) + 0x808080u) ^ 0x808080u;
}
ASSAY_HD constexpr std::int32_t DigitAt(std::uint32_t bytes, int place) {
  return static_cast<std::int8_t>(static_cast<std::uint8_t>(bytes >> (8 * place)));
}

// A block's sum of products, up to its scales, from the sums of products of digits of order 0, 1 and 2: `upper` is 256 · order 0 + order 1, which fits.
ASSAY_HD inline float JoinTwo(std::int32_t upper) { return static_cast<float>(upper); }
ASSAY_HD inline float JoinThree(std::int32_t upper, std::int32_t order_2) {
  return Fma(static_cast<float>(upper), 256.0f, static_cast<float>(order_2));
}

// A block's part of a digitsum. The total starts at +0, and the parts of blocks are added to it in ascending order, so that they can be computed apart.
ASSAY_HD inline float DigitBlockSum(float joined, float scale_a, float scale_b) { return joined * (scale_a * scale_b); }

}  // namespace assay::numerics
