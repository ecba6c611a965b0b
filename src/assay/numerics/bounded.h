// Bounded: a computed value together with a bound on how far any correct FP64 evaluation of the same formula can be from the truth (docs/ROUNDING.md,
// section 3).
//
// V is what values are computed in: double for who trains, DoubleDouble for a referee, to whom v is the truth itself. The bound speaks about FP64 in both cases; functions that it needs
// are those of V, so that a referee's bound, too, has the same bits on every machine.
// Formulas are templates over the number type: T = double is the plain evaluation, T = Bounded<V> the one that says how close it is. They use the functions of this
// header, which exist for both: Exp, Log, Sqrt, Rsqrt, Tanh, Erf, Sin, Cos, Pow, Fabs, Max, Choose; Sum and Contract stand in sums.h.
//
// Both v and another's value are within e of the truth, so that the truth is looked for within e of v and another's value within 2e. Terms that are smaller than the bound by a factor
// of 2^-30 are left out here: who uses a bound widens it (Rounder: by 2^-10). A bound that is not a number counts as infinite. Infinite values are infinite for everybody.
// Value type, pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "assay/numerics/host_device.h"

namespace assay::numerics {

inline constexpr double kUnit = 0x1p-53;      // half an ulp of one
inline constexpr double kFunction = 0x1p-51;  // relative error of an elementary function

// The plain evaluation: the machine's libm, which is correct but not the same everywhere.
ASSAY_HD inline double ToDouble(double v) { return v; }
ASSAY_HD inline double Exp(double a) { return std::exp(a); }
ASSAY_HD inline double Log(double a) { return std::log(a); }
ASSAY_HD inline double Sqrt(double a) { return std::sqrt(a); }
ASSAY_HD inline double Rsqrt(double a) { return 1 / std::sqrt(a); }
ASSAY_HD inline double Tanh(double a) { return std::tanh(a); }
ASSAY_HD inline double Erf(double a) { return std::erf(a); }
ASSAY_HD inline double Sin(double a) { return std::sin(a); }
ASSAY_HD inline double Cos(double a) { return std::cos(a); }
ASSAY_HD inline double Pow(double x, double y) { return std::pow(x, y); }
ASSAY_HD inline double Fabs(double a) { return std::fabs(a); }
// A NaN in either operand wins; of equal operands the left one stays.
ASSAY_HD inline double Max(double a, double b) { return b > a || b != b ? b : a; }
// left > right ? then : otherwise
ASSAY_HD inline double Choose(double left, double right, double then, double otherwise) {
  return left > right ? then : otherwise;
}

template <class V>
struct Bounded {
  V v{};
  double e = 0;
  bool narrow = false;  // an exact binary32 value: the product of two is exact

  constexpr Bounded() = default;
  ASSAY_HD Bounded(double exact) : v(exact) {}                       // NOLINT: numbers stand for themselves in formulas
  ASSAY_HD Bounded(float exact) : v(double{exact}), narrow(true) {}  // NOLINT
  ASSAY_HD Bounded(int exact) : v(static_cast<double>(exact)) {}     // NOLINT
  ASSAY_HD Bounded(const V& value, double error) : v(value), e(error) {}

  ASSAY_HD double magnitude() const { return std::fabs(ToDouble(v)); }

  ASSAY_HD friend Bounded operator-(const Bounded& a) {
    Bounded r(-a.v, a.e);
    r.narrow = a.narrow;
    return r;
  }
  ASSAY_HD friend Bounded operator+(const Bounded& a, const Bounded& b) {
    Bounded r(a.v + b.v, a.e + b.e);
    r.e += kUnit * r.magnitude();
    return r;
  }
  ASSAY_HD friend Bounded operator-(const Bounded& a, const Bounded& b) {
    Bounded r(a.v - b.v, a.e + b.e);
    r.e += kUnit * r.magnitude();
    return r;
  }
  ASSAY_HD friend Bounded operator*(const Bounded& a, const Bounded& b) {
    Bounded r(a.v * b.v, a.magnitude() * b.e + (b.magnitude() + 3 * b.e) * a.e);
    if (!(a.narrow && b.narrow)) r.e += kUnit * r.magnitude();
    return r;
  }
  ASSAY_HD friend Bounded operator/(const Bounded& a, const Bounded& b) {
    Bounded r(a.v / b.v, 0);
    const double m = b.magnitude();
    const double inverse = 1 / m;
    if (b.e * inverse <= 0x1p-21) {  // so that another's divisor, at least m - 2e, is as good as m
      r.e = (a.e + r.magnitude() * b.e) * (inverse * (1 + 0x1p-18)) + kUnit * r.magnitude();
      if (r.e < std::numeric_limits<double>::infinity()) return r;
    }
    r.e = DivisionError(a, b, r.magnitude());
    return r;
  }
  ASSAY_HD Bounded& operator+=(const Bounded& b) { return *this = *this + b; }
  ASSAY_HD Bounded& operator-=(const Bounded& b) { return *this = *this - b; }
  ASSAY_HD Bounded& operator*=(const Bounded& b) { return *this = *this * b; }
  ASSAY_HD Bounded& operator/=(const Bounded& b) { return *this = *this / b; }

  // Where the divisor is not known well, or something is not finite.
  ASSAY_HD static double DivisionError(const Bounded& a, const Bounded& b, double result) {
    const double m = b.magnitude();
    // A divisor that overflowed: at least 2^1023, and the quotient is nothing to the grid.
    if (m > std::numeric_limits<double>::max() && a.magnitude() <= std::numeric_limits<double>::max()) return 0;
    const double least = m - 2 * b.e;  // of another's divisor
    if (!(least > 0)) return std::numeric_limits<double>::infinity();
    const double quotient = result + (a.e + result * b.e) / (m - b.e);
    return (a.e + quotient * b.e) / least + kUnit * result;
  }

  // By value: right where the operands are exact. Elsewhere use Choose and Max.
  ASSAY_HD friend bool operator==(const Bounded& a, const Bounded& b) { return a.v == b.v; }
  ASSAY_HD friend bool operator!=(const Bounded& a, const Bounded& b) { return a.v != b.v; }
  ASSAY_HD friend bool operator<(const Bounded& a, const Bounded& b) { return a.v < b.v; }
  ASSAY_HD friend bool operator>(const Bounded& a, const Bounded& b) { return a.v > b.v; }
  ASSAY_HD friend bool operator<=(const Bounded& a, const Bounded& b) { return a.v <= b.v; }
  ASSAY_HD friend bool operator>=(const Bounded& a, const Bounded& b) { return a.v >= b.v; }

  // Whether correct evaluations can order two quantities differently.
  ASSAY_HD friend bool Open(const Bounded& a, const Bounded& b) {
    const double slack = a.e + b.e;
    return slack != 0 && !(std::fabs(ToDouble(a.v - b.v)) > 2.000001 * slack);
  }
};

template <class V>
ASSAY_HD double ToDouble(const Bounded<V>& a) {
  return ToDouble(a.v);
}

// f(a) with a bound on how far values of f can be apart for arguments that are e apart.
template <class V>
ASSAY_HD Bounded<V> WithFunctionError(const V& v, double spread) {
  return {v, spread + kFunction * std::fabs(ToDouble(v))};
}

template <class V>
ASSAY_HD Bounded<V> Exp(const Bounded<V>& a) {
  const V v = Exp(a.v);
  const double magnitude = ToDouble(v);
  if (magnitude == 0 && a.magnitude() > std::numeric_limits<double>::max()) return {v, 0};
  // exp grows by at most a factor of 1 + d + d^2 over a distance d <= 1. Far below zero it is nothing for everybody, however large e is.
  const double largest = 2 * a.e <= 1 ? magnitude * (1 + 2 * a.e + 4 * a.e * a.e) : ToDouble(Exp(V(ToDouble(a.v) + 2 * a.e)));
  return WithFunctionError(v, a.e == 0 || largest == 0 ? 0 : largest * a.e);
}

template <class V>
ASSAY_HD Bounded<V> Log(const Bounded<V>& a) {
  const double least = ToDouble(a.v) - 2 * a.e;
  const double spread = least > 0 ? a.e / least : std::numeric_limits<double>::infinity();
  return WithFunctionError(Log(a.v), a.e == 0 ? 0 : spread);
}

// Arguments are sums of squares and the like: not negative for anybody.
template <class V>
ASSAY_HD Bounded<V> Sqrt(const Bounded<V>& a) {
  const V v = Sqrt(a.v);
  const double root = ToDouble(v);
  // |sqrt(x) - sqrt(y)| is at most |x - y| / (2 sqrt(least)) and at most sqrt(|x - y|); sqrt(a - 2e) >= (a - 2e) / sqrt(a).
  const double least = ToDouble(a.v) - 2 * a.e;
  const double spread = 4 * a.e < ToDouble(a.v) ? a.e * root / (2 * least) : Sqrt(a.e);
  return {v, (a.e == 0 ? 0 : spread) + kUnit * std::fabs(root)};
}

template <class V>
ASSAY_HD Bounded<V> Rsqrt(const Bounded<V>& a) {
  const V v = Rsqrt(a.v);
  const double argument = ToDouble(a.v);
  if (argument > std::numeric_limits<double>::max()) return {v, 0};
  const double least = argument - 2 * a.e;
  // The slope 1/2 x^-3/2 at a - 2e is at most 1/2 a^-1/2 * a / (a - 2e)^2.
  const double spread =
      least > 0 ? 0.5 * a.e * ToDouble(v) * (argument / least) / least : std::numeric_limits<double>::infinity();
  return WithFunctionError(v, a.e == 0 ? 0 : spread);
}

template <class V>
ASSAY_HD Bounded<V> Tanh(const Bounded<V>& a) {
  const V v = Tanh(a.v);
  const double t = ToDouble(v);
  const double slope = (1 - t * t) + 2 * a.e + 0x1p-48;  // the slope's own slope is below 1
  return WithFunctionError(v, a.e * (slope < 1 ? slope : 1));
}

template <class V>
ASSAY_HD Bounded<V> Erf(const Bounded<V>& a) {
  // The slope is 2/sqrt(pi) exp(-x^2), and exp(x^2) at least the beginning of its series.
  const double m = a.magnitude() - 2 * a.e;
  const double square = m > 0 ? m * m : 0;
  const double slope = 1.1283791671 / (1 + square * (1 + square * (0.5 + square * (1.0 / 6))));
  return WithFunctionError(Erf(a.v), a.e * slope);
}

template <class V>
ASSAY_HD Bounded<V> Sin(const Bounded<V>& a) {
  return WithFunctionError(Sin(a.v), a.e);
}

template <class V>
ASSAY_HD Bounded<V> Cos(const Bounded<V>& a) {
  return WithFunctionError(Cos(a.v), a.e);
}

template <class V>
ASSAY_HD Bounded<V> Pow(const Bounded<V>& x, const Bounded<V>& y) {
  const V v = Pow(x.v, y.v);
  if (x.e == 0 && y.e == 0) return WithFunctionError(v, 0);
  const double base = x.magnitude();
  const double exponent = y.magnitude();
  const double least = base - 2 * x.e;
  if (!(least > 0)) {
    // The base may be zero or of either sign: a power of at least 1 has a slope that grows with |x|.
    const bool smooth = y.e == 0 && ToDouble(y.v) >= 1;
    return WithFunctionError(v, smooth ? x.e * exponent * ToDouble(Pow(V(base + 2 * x.e), V(exponent - 1)))
                                       : std::numeric_limits<double>::infinity());
  }
  // |y log x - y' log x'|, then exp.
  const double of_log = x.e / least;
  const double distance = (exponent + 2 * y.e) * of_log + (y.e == 0 ? 0 : (std::fabs(ToDouble(Log(V(base)))) + of_log) * y.e);
  const double growth = distance <= 0.5 ? 1 + 2 * distance + 4 * distance * distance : ToDouble(Exp(V(2 * distance)));
  return WithFunctionError(v, std::fabs(ToDouble(v)) * growth * distance);
}

template <class V>
ASSAY_HD Bounded<V> Fabs(const Bounded<V>& a) {
  Bounded<V> r(Fabs(a.v), a.e);
  r.narrow = a.narrow;
  return r;
}

template <class V>
ASSAY_HD Bounded<V> Max(const Bounded<V>& a, const Bounded<V>& b) {
  Bounded<V> r = b.v > a.v || b.v != b.v ? b : a;
  if (Open(a, b)) {
    r.e = a.e > b.e ? a.e : b.e;
    r.narrow = false;
  }
  return r;
}

// left > right ? then : otherwise; where the errors leave the comparison open, the bound reaches to the farther of the two results.
template <class V>
ASSAY_HD Bounded<V> Choose(const Bounded<V>& left, const Bounded<V>& right, const Bounded<V>& then,
                           const Bounded<V>& otherwise) {
  Bounded<V> r = left.v > right.v ? then : otherwise;
  if (Open(left, right)) {
    r.e = std::fabs(ToDouble(then.v - otherwise.v)) + 2 * (then.e + otherwise.e);
    r.narrow = false;
  }
  return r;
}

}  // namespace assay::numerics

#include "assay/numerics/sums.h"  // IWYU pragma: export
