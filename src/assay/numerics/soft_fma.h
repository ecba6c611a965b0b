// Fused multiply-add in plain arithmetic, for processors that have no instruction for it and no library that gets it right. Bit for bit what IEEE 754's fusedMultiplyAdd gives
// in the default rounding, subnormal results and signs of zero included; of a NaN only that it is one. Pure; thread safe.
//
// binary32: the product of two floats is exact in a double. The sum with c is rounded to odd there: where it is not exact, of its two neighbours the one
// whose last bit is set is taken. A double has more than two bits beyond a float's, so rounding that to a float rounds the exact sum.
// binary64: integers of 128 bits hold the product exactly; what is shifted out of the smaller summand stays as one sticky bit.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace assay::numerics {

inline float SoftFma(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b), addend = static_cast<double>(c);
  const double sum = product + addend;
  if (!std::isfinite(sum)) return static_cast<float>(sum);
  const double t = sum - product;
  const double rest = (product - (sum - t)) + (addend - t);  // what is missing from the sum, exactly
  auto bits = std::bit_cast<std::uint64_t>(sum);
  if (rest != 0 && (bits & 1) == 0) bits += (rest > 0) == (sum > 0) ? std::uint64_t{1} : ~std::uint64_t{0};
  return static_cast<float>(std::bit_cast<double>(bits));
}

namespace soft_fma {

__extension__ typedef unsigned __int128 Wide;

inline constexpr int kTop = 125;      // where the leading bit of a summand stands; there is room for a carry above it
inline constexpr int kMantissa = 53;  // bits
inline constexpr int kLeast = -1074;  // exponent of the least double's bit

inline int Zeros(Wide x) {
  const auto high = static_cast<std::uint64_t>(x >> 64);
  return high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(static_cast<std::uint64_t>(x));
}

// Not zero, finite: magnitude = mantissa * 2^exponent.
struct Parts {
  std::uint64_t mantissa;
  int exponent;
};
inline Parts Split(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto biased = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (biased == 0) return {fraction, kLeast};
  return {fraction | std::uint64_t{1} << 52, biased - 1 + kLeast};
}

// A value whose leading bit stands at kTop.
struct Summand {
  Wide bits;
  int exponent;  // of bit 0
};
inline Summand Aligned(Wide bits, int exponent) {
  const int shift = Zeros(bits) - (127 - kTop);
  return {bits << shift, exponent - shift};
}

// x / 2^by; bits that fall off leave the last one set.
inline Wide Shifted(Wide x, int by) {
  if (by <= 0) return x;
  if (by > 127) return x != 0 ? 1 : 0;
  const Wide kept = x >> by;
  return kept << by == x ? kept : kept | 1;
}

// bits * 2^exponent as the nearest double, ties to even.
inline double Rounded(bool negative, Wide bits, int exponent) {
  const int length = 128 - Zeros(bits);
  int drop = length - kMantissa;
  if (exponent + drop < kLeast) drop = kLeast - exponent;  // a subnormal has fewer bits
  // Kept is the result's mantissa behind two more bits, the second of which is sticky.
  const int guard = drop - 2;
  const Wide kept = guard >= 0 ? Shifted(bits, guard) : bits << -guard;
  auto mantissa = static_cast<std::uint64_t>(kept >> 2);
  const auto below = static_cast<unsigned>(kept & 3);
  if (below == 3 || (below == 2 && (mantissa & 1) != 0)) ++mantissa;
  // A carry out of the mantissa goes into the exponent, which is what it means.
  const std::uint64_t hidden = std::uint64_t{1} << 52;
  const int biased = mantissa < hidden ? 0 : exponent + drop - kLeast + 1;
  if (biased >= 0x7ff) return negative ? -HUGE_VAL : HUGE_VAL;
  const std::uint64_t result = biased == 0 ? mantissa : (static_cast<std::uint64_t>(biased) << 52) + (mantissa - hidden);
  return std::bit_cast<double>(result | static_cast<std::uint64_t>(negative) << 63);
}

}  // namespace soft_fma

inline double SoftFma(double a, double b, double c) {
  using namespace soft_fma;
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return a * b + c;  // nothing is rounded twice
  if (!std::isfinite(c)) return c;                                                   // however large the product is
  if (c == 0) return a * b;  // which is not zero, and keeps its sign where it becomes so
  const Parts x = Split(a), y = Split(b), z = Split(c);
  const bool negative_product = std::signbit(a) != std::signbit(b), negative_addend = std::signbit(c);
  Summand product = Aligned(static_cast<Wide>(x.mantissa) * y.mantissa, x.exponent + y.exponent);
  Summand addend = Aligned(z.mantissa, z.exponent);
  const bool product_first =
      product.exponent > addend.exponent || (product.exponent == addend.exponent && product.bits >= addend.bits);
  const Summand& large = product_first ? product : addend;
  const Summand& small = product_first ? addend : product;
  // Both have at least 19 zero bits at their end. What is shifted out was shifted by more, so that no difference loses more than its leading bit.
  const Wide aligned = Shifted(small.bits, large.exponent - small.exponent);
  const bool negative = product_first ? negative_product : negative_addend;
  const Wide sum = negative_product == negative_addend ? large.bits + aligned : large.bits - aligned;
  if (sum == 0) return 0.0;
  return Rounded(negative, sum, large.exponent);
}

}  // namespace assay::numerics
