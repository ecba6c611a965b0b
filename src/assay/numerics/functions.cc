#include "assay/numerics/functions.h"

#include <array>
#include <limits>

namespace assay::numerics {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::bit_cast<float>(kCanonicalNan);

// a = n pi/2 + (high + low) for a finite a >= 2^17, by Payne and Hanek's method: of the product of a's integer significand with the
// binary expansion of 2/pi only the bits below 4 matter, and 64 of them decide.
float ReduceLarge(float a, float& low, std::int32_t& quadrant) {
  static constexpr std::array<std::uint32_t, 8> kTwoOverPi = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                                              0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(a);
  const std::uint64_t significand = (bits & 0x7fffffu) | 0x800000u;
  const std::uint32_t position = (bits >> 23) - 150 + 30;  // first bit of the expansion whose product can be below 4
  const auto window = [&](std::uint32_t k) {
    const std::uint32_t i = (position >> 5) + k;
    const std::uint64_t pair = std::uint64_t{kTwoOverPi[i]} << 32 | kTwoOverPi[i + 1];
    return pair << (position & 31) >> 32;
  };
  const std::uint64_t product = (significand * window(0) << 32) + significand * window(1) + (significand * window(2) >> 32);
  const std::uint64_t n = (product + (std::uint64_t{1} << 61)) >> 62;  // of a turn's quarters, 62 bits are fraction
  quadrant = static_cast<std::int32_t>(n & 3);
  const std::int64_t fraction = static_cast<std::int64_t>(product - (n << 62));
  const double r = static_cast<double>(fraction) * 0x1.921fb54442d18p-62;
  const float high = static_cast<float>(r);
  low = static_cast<float>(r - static_cast<double>(high));
  return high;
}

// 1, 1/3, ..., 1/21 and 1/0!, 1/1!, ..., 1/13!: what is left out is below 2^-50 of the sum in the ranges below.
constexpr std::array<double, 11> kOddReciprocals = [] {
  std::array<double, 11> c{};
  for (std::size_t k = 0; k < c.size(); ++k) c[k] = 1.0 / static_cast<double>(2 * k + 1);
  return c;
}();
constexpr std::array<double, 14> kFactorialReciprocals = [] {
  std::array<double, 14> c{1.0};
  for (std::size_t k = 1; k < c.size(); ++k) c[k] = c[k - 1] / static_cast<double>(k);
  return c;
}();

// log2 of a positive finite a. atanh's series in s = (m - 1) / (m + 1), |s| < 0.172.
double Log2(float a) {
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(static_cast<double>(a));
  const std::int64_t k = static_cast<std::int64_t>(bits - 0x3fe6a09e667f3bcdu) >> 52;
  const double m = std::bit_cast<double>(bits - (static_cast<std::uint64_t>(k) << 52));  // in [sqrt(1/2), sqrt(2))
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = 0.0;
  for (std::size_t i = kOddReciprocals.size(); i-- > 0;) series = series * z + kOddReciprocals[i];
  return static_cast<double>(k) + s * series * 0x1.71547652b82fep1;  // 2 / ln(2)
}

// 2^t for -160 <= t <= 130, by the exponential's series on the fraction.
double Exp2(double t) {
  const std::int64_t n = static_cast<std::int64_t>(t < 0 ? t - 0.5 : t + 0.5);
  const double r = (t - static_cast<double>(n)) * 0x1.62e42fefa39efp-1;
  double series = 0.0;
  for (std::size_t k = kFactorialReciprocals.size(); k-- > 0;) series = series * r + kFactorialReciprocals[k];
  return series * std::bit_cast<double>(static_cast<std::uint64_t>(n + 1023) << 52);
}

bool IsInteger(float y) { return Scalar::Abs(y) >= 0x1p23f || y == static_cast<float>(static_cast<std::int32_t>(y)); }
bool IsOdd(float y) { return Scalar::Abs(y) < 0x1p24f && IsInteger(y) && (static_cast<std::int32_t>(y) & 1) != 0; }

// pow(a, y) for a in [0, inf], a != 1, y != 0, neither NaN.
float PowMagnitude(float a, float y) {
  if (a == 0) return y > 0 ? 0.0f : kInfinity;
  if (a == kInfinity) return y > 0 ? kInfinity : 0.0f;
  const double t = static_cast<double>(y) * Log2(a);
  if (t >= 130.0) return kInfinity;
  if (t <= -160.0) return 0.0f;
  return static_cast<float>(Exp2(t));
}

}  // namespace

float LogSpecial(float x) {
  if (x != x || x < 0) return kNan;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  return LogNormal<Scalar>(x * 0x1p24f, -24);
}

float SinLarge(float x) {
  const float a = Scalar::Abs(x);
  if (!(a < kInfinity)) return kNan;
  float low;
  std::int32_t quadrant;
  const float high = ReduceLarge(a, low, quadrant);
  const float y = SinQuadrant<Scalar>(high, low, quadrant);
  return x < 0 ? -y : y;
}

float CosLarge(float x) {
  const float a = Scalar::Abs(x);
  if (!(a < kInfinity)) return kNan;
  float low;
  std::int32_t quadrant;
  const float high = ReduceLarge(a, low, quadrant);
  return SinQuadrant<Scalar>(high, low, quadrant + 1);
}

float RsqrtSpecial(float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); }

float PowScalar(float x, float y) {
  if (y == 0 || x == 1.0f) return 1.0f;
  if (x != x || y != y) return kNan;
  const float a = Scalar::Abs(x);
  const bool negative = std::bit_cast<std::uint32_t>(x) >> 31 != 0;
  if (negative && a != 0 && a != kInfinity && !IsInteger(y)) return kNan;
  const float magnitude = a == 1.0f ? 1.0f : PowMagnitude(a, y);
  return negative && IsOdd(y) ? -magnitude : magnitude;
}

}  // namespace assay::numerics
