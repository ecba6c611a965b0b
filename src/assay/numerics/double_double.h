// DoubleDouble: numbers of about 106 bits, the unevaluated sum of two doubles. To a referee they are the truth (docs/ROUNDING.md, section 4).
//
// Only IEEE operations and Fma are used, so that the same bits come out on every machine. Sums, products, quotients and roots are
// within 2^-100 of the true value, the functions within 2^-95 (sine and cosine beside their zeros too), relative, as long as hi and lo
// stay normal; Pow and Exp within 2^-90 where the result comes near the ends of the range. Where hi is not finite, lo is zero: infinities and NaN behave as in IEEE.
// Value type; pure functions.
#pragma once

#include <cmath>
#include <limits>

#include "assay/numerics/fma.h"

namespace assay::numerics {

class DoubleDouble {
 public:
  constexpr DoubleDouble() = default;
  constexpr DoubleDouble(double v) : hi_(v) {}  // NOLINT: numbers stand for themselves in formulas
  // |lo| is at most half an ulp of hi.
  constexpr DoubleDouble(double hi, double lo) : hi_(hi), lo_(lo) {}

  // a + b and a * b, exactly.
  static DoubleDouble Sum(double a, double b) {
    const double s = a + b;
    if (!Finite(s)) return s;
    const double t = s - a;
    return {s, (a - (s - t)) + (b - t)};
  }
  static DoubleDouble Product(double a, double b) {
    const double p = a * b;
    if (!Finite(p)) return p;
    return {p, Fma(a, b, -p)};
  }

  constexpr double hi() const { return hi_; }
  constexpr double lo() const { return lo_; }

  friend DoubleDouble operator-(const DoubleDouble& a) { return {-a.hi_, -a.lo_}; }
  friend DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
    const DoubleDouble s = Sum(a.hi_, b.hi_);
    const DoubleDouble t = Sum(a.lo_, b.lo_);
    const DoubleDouble r = Settle(s.hi_, s.lo_ + t.hi_);
    return Settle(r.hi_, r.lo_ + t.lo_);
  }
  friend DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + -b; }
  friend DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
    const DoubleDouble p = Product(a.hi_, b.hi_);
    return Settle(p.hi_, p.lo_ + (a.hi_ * b.lo_ + a.lo_ * b.hi_));
  }
  friend DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
    const double first = a.hi_ / b.hi_;
    if (!Finite(first) || !Finite(b.hi_)) return first;
    DoubleDouble rest = a - b * first;
    const double second = rest.hi_ / b.hi_;
    rest = rest - b * second;
    const DoubleDouble q = Settle(first, second);
    const DoubleDouble r = Settle(q.hi_, q.lo_ + rest.hi_ / b.hi_);
    return Finite(r.hi_) ? r : first;  // the product overflowed beside the largest numbers
  }
  DoubleDouble& operator+=(const DoubleDouble& b) { return *this = *this + b; }
  DoubleDouble& operator-=(const DoubleDouble& b) { return *this = *this - b; }
  DoubleDouble& operator*=(const DoubleDouble& b) { return *this = *this * b; }
  DoubleDouble& operator/=(const DoubleDouble& b) { return *this = *this / b; }

  friend bool operator==(const DoubleDouble& a, const DoubleDouble& b) { return a.hi_ == b.hi_ && a.lo_ == b.lo_; }
  friend bool operator!=(const DoubleDouble& a, const DoubleDouble& b) { return !(a == b); }
  friend bool operator<(const DoubleDouble& a, const DoubleDouble& b) {
    return a.hi_ < b.hi_ || (a.hi_ == b.hi_ && a.lo_ < b.lo_);
  }
  friend bool operator>(const DoubleDouble& a, const DoubleDouble& b) { return b < a; }
  friend bool operator<=(const DoubleDouble& a, const DoubleDouble& b) { return a < b || a == b; }
  friend bool operator>=(const DoubleDouble& a, const DoubleDouble& b) { return b <= a; }

 private:
  static bool Finite(double v) { return std::fabs(v) <= std::numeric_limits<double>::max(); }
  // hi + lo where |hi| >= |lo|.
  static DoubleDouble Settle(double hi, double lo) {
    const double s = hi + lo;
    if (!Finite(s)) return Finite(hi) ? s : hi;
    return {s, lo - (s - hi)};
  }

  double hi_ = 0;
  double lo_ = 0;
};

inline double ToDouble(const DoubleDouble& v) { return v.hi(); }
inline DoubleDouble Fabs(const DoubleDouble& a) { return a.hi() < 0 ? -a : DoubleDouble(std::fabs(a.hi()), a.lo()); }

DoubleDouble Exp(const DoubleDouble& a);
DoubleDouble Log(const DoubleDouble& a);
DoubleDouble Sqrt(const DoubleDouble& a);
DoubleDouble Rsqrt(const DoubleDouble& a);
DoubleDouble Tanh(const DoubleDouble& a);
DoubleDouble Erf(const DoubleDouble& a);
DoubleDouble Sin(const DoubleDouble& a);
DoubleDouble Cos(const DoubleDouble& a);
DoubleDouble Pow(const DoubleDouble& x, const DoubleDouble& y);  // special cases as in IEEE's pow

}  // namespace assay::numerics
