// The scalar arithmetic policy. Functions of numerics/ are templates over a policy P that supplies a float type and the few
// operations the contract allows; the SIMD policy (simd-inl.h) and the GPU's (device-inl.h) supply the same names, so each function has one source.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "assay/numerics/fma.h"

namespace assay::numerics {

inline constexpr std::uint32_t kCanonicalNan = 0x7fc00000u;

// Every operator's output carries this one NaN.
inline float CanonicalNan(float x) { return x != x ? std::bit_cast<float>(kCanonicalNan) : x; }

// max of docs/NUMERICS.md: a NaN in either operand wins; of equal operands the left one stays.
inline float Max(float a, float b) { return b > a || b != b ? b : a; }

struct Scalar {
  using F = float;         // the value
  using I = std::int32_t;  // its bits
  using M = bool;          // a condition per lane

  static F Set(float x) { return x; }
  static I SetI(std::int32_t x) { return x; }
  static F Add(F a, F b) { return a + b; }
  static F Sub(F a, F b) { return a - b; }
  static F Mul(F a, F b) { return a * b; }
  static F Div(F a, F b) { return a / b; }
  static F Neg(F a) { return -a; }
  static F Abs(F a) { return std::bit_cast<F>(std::bit_cast<std::uint32_t>(a) & 0x7fffffffu); }
  static F Sqrt(F a) { return std::sqrt(a); }                         // correctly rounded
  static F Fma(F a, F b, F c) { return numerics::Fma(a, b, c); }      // a * b + c, one rounding
  static F NegFma(F a, F b, F c) { return numerics::Fma(-a, b, c); }  // c - a * b, one rounding
  static M Lt(F a, F b) { return a < b; }
  static M Le(F a, F b) { return a <= b; }
  static M Gt(F a, F b) { return a > b; }
  static M Ge(F a, F b) { return a >= b; }
  static M Eq(F a, F b) { return a == b; }
  static M IsNan(F a) { return a != a; }
  static M And(M a, M b) { return a && b; }
  static M Or(M a, M b) { return a || b; }
  static M Not(M a) { return !a; }
  static F Select(M m, F yes, F no) { return m ? yes : no; }
  static I SelectI(M m, I yes, I no) { return m ? yes : no; }

  static I Bits(F a) { return std::bit_cast<I>(a); }
  static F FromBits(I a) { return std::bit_cast<F>(a); }
  static I AddI(I a, I b) { return static_cast<I>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b)); }
  static I SubI(I a, I b) { return static_cast<I>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b)); }
  static I AndI(I a, I b) { return a & b; }
  static I OrI(I a, I b) { return a | b; }
  static I XorI(I a, I b) { return a ^ b; }
  template <int n>
  static I Shl(I a) {
    return static_cast<I>(static_cast<std::uint32_t>(a) << n);
  }
  template <int n>
  static I Sar(I a) {  // the sign comes in from the left
    return a >> n;
  }
  template <int n>
  static I Shr(I a) {  // zeros do
    return static_cast<I>(static_cast<std::uint32_t>(a) >> n);
  }
  static M EqI(I a, I b) { return a == b; }
  static M LtI(I a, I b) { return a < b; }
  static F ToFloat(I a) { return static_cast<float>(a); }  // round to nearest even
  static I ToIntExact(F a) { return static_cast<I>(a); }   // |a| < 2^31 and a is an integer

  static double SqrtDouble(double a) { return std::sqrt(a); }
  static std::uint64_t BitsOfDouble(double a) { return std::bit_cast<std::uint64_t>(a); }
  static double DoubleFromBits(std::uint64_t a) { return std::bit_cast<double>(a); }

  static F Max(F a, F b) { return numerics::Max(a, b); }
  static F Canonical(F a) { return CanonicalNan(a); }
  static F AtMost(F a, float limit) { return a > limit ? limit : a; }  // NaN stays; limit finite and not zero
  static F AtLeast(F a, float limit) { return a < limit ? limit : a; }
  // `fast`, or slow(x) in the lanes of m: the way out for arguments that the fast formula does not cover.
  static F Patch(M m, F x, F fast, float (*slow)(float)) { return m ? slow(x) : fast; }
  static F Map(F x, float y, float (*function)(float, float)) { return function(x, y); }
};

}  // namespace assay::numerics
