// Bounded: a computed value together with a bound on how far any correct FP64 evaluation of the same formula can be from the truth (docs/ROUNDING.md,
// section 3).
//
// V is what values are computed in: double for who trains, DoubleDouble for a referee, to whom v is the truth itself. The bound speaks about FP64 in both cases.
// Formulas are templates over the number type: T = double is the plain evaluation, T = Bounded<V> the one that says how close it is.
#pragma once

#include <cmath>
#include <cstdint>

namespace assay::numerics {

inline constexpr double kUnit = 0x1p-53;      // half an ulp of one
inline constexpr double kFunction = 0x1p-51;  // relative error of an elementary function

// The most additions that a term of a sum of n passes through.
constexpr double SumDepth(std::int64_t n) {
  constexpr std::int64_t kBlock = 128;
  double depth = 0;
  for (; n > kBlock; n = (n + kBlock - 1) / kBlock) depth += static_cast<double>(kBlock);
  return depth + static_cast<double>(n);
}

// Contractions of k products are computed in blocks of this many.
constexpr std::int64_t ContractionBlock(std::int64_t k) { return k < 16384 ? 128 : 256; }
constexpr double ContractionDepth(std::int64_t k) {
  const std::int64_t block = ContractionBlock(k);
  return static_cast<double>((k < block ? k : block) + (k + block - 1) / block);
}

inline double ToDouble(double v) { return v; }

template <class V>
struct Bounded {
  V v{};
  double e = 0;
  bool narrow = false;  // an exact binary32 value: the product of two is exact

  constexpr Bounded() = default;
  Bounded(double exact) : v(exact) {}                          // NOLINT: numbers stand for themselves in formulas
  Bounded(float exact) : v(double{exact}), narrow(true) {}     // NOLINT
  Bounded(const V& value, double error) : v(value), e(error) {}

  double magnitude() const { return std::fabs(ToDouble(v)); }

  friend Bounded operator-(const Bounded& a) {
    Bounded r(-a.v, a.e);
    r.narrow = a.narrow;
    return r;
  }
  friend Bounded operator+(const Bounded& a, const Bounded& b) {
    Bounded r(a.v + b.v, a.e + b.e);
    r.e += kUnit * r.magnitude();
    return r;
  }
  friend Bounded operator-(const Bounded& a, const Bounded& b) {
    Bounded r(a.v - b.v, a.e + b.e);
    r.e += kUnit * r.magnitude();
    return r;
  }
  friend Bounded operator*(const Bounded& a, const Bounded& b) {
    Bounded r(a.v * b.v, a.magnitude() * b.e + b.magnitude() * a.e + a.e * b.e);
    if (!(a.narrow && b.narrow)) r.e += kUnit * r.magnitude();
    return r;
  }
  friend Bounded operator/(const Bounded& a, const Bounded& b) {
    Bounded r(a.v / b.v, 0);
    r.e = (a.e + r.magnitude() * b.e) / (b.magnitude() - b.e) + kUnit * r.magnitude();
    return r;
  }
};

}  // namespace assay::numerics
