#include "assay/numerics/double_double.h"

#include <bit>
#include <cstdint>

namespace assay::numerics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr DoubleDouble kLn2(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56);
constexpr double kLn2Rest = 0x1.7b57a079a1934p-111;
constexpr DoubleDouble kHalfPi(0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54);
constexpr DoubleDouble kTwoOverRootPi(0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56);

bool IsFinite(double v) { return std::fabs(v) <= std::numeric_limits<double>::max(); }

// 2^k of a normal number.
double PowerOfTwo(int k) { return std::bit_cast<double>(static_cast<std::uint64_t>(k + 1023) << 52); }

// Exact as long as the result is normal.
DoubleDouble Times(const DoubleDouble& a, double power_of_two) {
  const double hi = a.hi() * power_of_two;
  return IsFinite(hi) ? DoubleDouble(hi, a.lo() * power_of_two) : DoubleDouble(hi);
}

// a * 2^k for |k| below 2100.
DoubleDouble Scale(const DoubleDouble& a, int k) {
  const int half = k / 2;
  return Times(Times(a, PowerOfTwo(half)), PowerOfTwo(k - half));
}

// The exponent of a positive finite number, which is brought to [1, 2).
int Normalise(DoubleDouble& a) {
  int extra = 0;
  if (a.hi() < 0x1p-960) {
    a = Times(a, 0x1p128);
    extra = -128;
  }
  const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(a.hi()) >> 52) - 1023;
  a = Scale(a, -exponent);
  return exponent + extra;
}

// 1/2!, 1/3! ...
constexpr DoubleDouble kInverseFactorials[] = {
    {0x1p-1, 0},
    {0x1.5555555555555p-3, 0x1.5555555555555p-57},
    {0x1.5555555555555p-5, 0x1.5555555555555p-59},
    {0x1.1111111111111p-7, 0x1.1111111111111p-63},
    {0x1.6c16c16c16c17p-10, -0x1.f49f49f49f49fp-65},
    {0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-73},
    {0x1.a01a01a01a01ap-16, 0x1.a01a01a01a01ap-76},
    {0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73},
};

// exp(r) - 1 for |r| < 0.36: the series at r / 512, then (1 + s)^2 - 1 = 2s + s^2 nine times, which keeps the relative error.
DoubleDouble ExpM1Reduced(const DoubleDouble& r) {
  const DoubleDouble t = Times(r, 0x1p-9);
  DoubleDouble sum = kInverseFactorials[7];
  for (int i = 6; i >= 0; --i) sum = sum * t + kInverseFactorials[i];
  DoubleDouble s = t + (t * t) * sum;
  for (int i = 0; i < 9; ++i) s = Times(s, 2) + s * s;
  return s;
}

// 2/pi, in words of 32 bits after the point.
constexpr std::uint32_t kTwoOverPiWords[] = {0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab,
                                             0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
                                             0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b,
                                             0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
                                             0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1,
                                             0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20, 0x9af4361d, 0xa9e39161};

struct Angle {
  unsigned quadrant = 0;  // modulo 4
  DoubleDouble rest;      // between about -pi/4 and pi/4
};

// A finite number modulo quarter turns. The mantissa times a window of 256 bits of 2/pi is a number of quarter turns with more than 200 bits after the point;
// bits of 2/pi before the window are worth whole turns.
Angle Reduce(double x) {
  if (std::fabs(x) < 0.78) return {0, x};
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff) - 1075;  // at least -53
  const std::uint64_t mantissa = (bits & 0xfffffffffffff) | 0x10000000000000;
  const int skipped = exponent > 2 ? exponent - 2 : 0;
  constexpr int kWords = 8;
  // product[0 ...] = the window times the mantissa, least word first: two words before the point at the top.
  std::uint32_t product[kWords + 2] = {};
  const std::uint64_t factors[2] = {mantissa & 0xffffffff, mantissa >> 32};
  for (int i = 0; i < kWords; ++i) {
    const int word = skipped / 32 + (kWords - 1 - i);
    const std::uint64_t pair = (std::uint64_t{kTwoOverPiWords[word]} << 32) | kTwoOverPiWords[word + 1];
    const std::uint64_t window = (pair >> (32 - skipped % 32)) & 0xffffffff;
    std::uint64_t carry = 0;
    for (int j = 0; j < 2; ++j) {
      const std::uint64_t t = window * factors[j] + product[i + j] + carry;
      product[i + j] = static_cast<std::uint32_t>(t);
      carry = t >> 32;
    }
    for (int j = i + 2; carry != 0 && j < kWords + 2; ++j) {
      const std::uint64_t t = product[j] + carry;
      product[j] = static_cast<std::uint32_t>(t);
      carry = t >> 32;
    }
  }
  // The point moves by what is left of the exponent: to the right by up to 2 bits, or to the left by up to 53.
  const int shift = exponent - skipped;
  const auto word_at = [&](int i) -> std::uint32_t { return i >= 0 && i < kWords + 2 ? product[i] : 0; };
  std::uint32_t fraction[kWords];
  std::uint32_t whole = 0;
  const int left =
      shift >= 0 ? shift : 64 + shift;  // a shift to the left by this many bits, after one by whole words to the right
  const int words = shift >= 0 ? 0 : 2;
  for (int i = 0; i <= kWords; ++i) {
    const int at = i + words - left / 32;
    const std::uint64_t pair = (std::uint64_t{word_at(at)} << 32) | word_at(at - 1);
    const std::uint32_t moved = static_cast<std::uint32_t>(pair >> (32 - left % 32));
    if (i < kWords) {
      fraction[i] = moved;
    } else {
      whole = moved;
    }
  }
  Angle angle{whole & 3, {}};
  const bool up = (fraction[kWords - 1] >> 31) != 0;
  if (up) {  // nearer to the next quarter turn: 1 - fraction, up to 2^-256
    angle.quadrant = (angle.quadrant + 1) & 3;
    for (std::uint32_t& word : fraction) word = ~word;
  }
  DoubleDouble turns;
  double weight = 0x1p-256;
  for (const std::uint32_t word : fraction) {
    turns += DoubleDouble(static_cast<double>(word) * weight);
    weight *= 0x1p32;
  }
  angle.rest = turns * kHalfPi;
  if (up != (x < 0)) angle.rest = -angle.rest;
  if (x < 0) angle.quadrant = (4 - angle.quadrant) & 3;
  return angle;
}

Angle Reduce(const DoubleDouble& a) {
  Angle angle = Reduce(a.hi());
  const Angle low = Reduce(a.lo());
  angle.quadrant = (angle.quadrant + low.quadrant) & 3;
  angle.rest += low.rest;
  if (angle.rest.hi() > 0.79) {
    angle.rest -= kHalfPi;
    angle.quadrant = (angle.quadrant + 1) & 3;
  } else if (angle.rest.hi() < -0.79) {
    angle.rest += kHalfPi;
    angle.quadrant = (angle.quadrant + 3) & 3;
  }
  return angle;
}

// first * (1 - r^2 / (n(n+1)) * (1 - r^2 / ((n+2)(n+3)) * ...)), the series of sine (first = r, n = 2) and cosine (first = 1, n = 1), |r| < 0.8.
DoubleDouble AlternatingSeries(const DoubleDouble& first, const DoubleDouble& r, int n) {
  const DoubleDouble square = r * r;
  DoubleDouble sum = 1;
  for (int i = n + 28; i >= n; i -= 2) sum = 1 - square / static_cast<double>(i * (i + 1)) * sum;
  return first * sum;
}

DoubleDouble Circular(const Angle& angle) {  // the sine
  const DoubleDouble r = angle.rest;
  const DoubleDouble v = angle.quadrant % 2 == 0 ? AlternatingSeries(r, r, 2) : AlternatingSeries(1, r, 1);
  return angle.quadrant >= 2 ? -v : v;
}

bool IsInteger(const DoubleDouble& a) { return std::floor(a.hi()) == a.hi() && std::floor(a.lo()) == a.lo(); }
bool IsOdd(double a) { return std::fabs(a) < 0x1p53 && std::floor(a / 2) * 2 != a; }
bool IsOddInteger(const DoubleDouble& a) { return IsInteger(a) && IsOdd(a.hi()) != IsOdd(a.lo()); }

}  // namespace

DoubleDouble Exp(const DoubleDouble& a) {
  if (a.hi() != a.hi()) return a.hi();
  if (a.hi() > 710) return kInfinity;
  if (a.hi() < -746) return 0;
  const double k = std::floor(a.hi() / kLn2.hi() + 0.5);
  const DoubleDouble r = ((a - DoubleDouble::Product(k, kLn2.hi())) - DoubleDouble::Product(k, kLn2.lo())) - k * kLn2Rest;
  return Scale(1 + ExpM1Reduced(r), static_cast<int>(k));
}

DoubleDouble Log(const DoubleDouble& a) {
  if (a.hi() != a.hi() || a.hi() < 0) return kNan;
  if (a.hi() == 0) return -kInfinity;
  if (a.hi() > std::numeric_limits<double>::max()) return kInfinity;
  DoubleDouble m = a;
  int k = Normalise(m);
  if (m.hi() > 0x1.6a09e667f3bcdp+0) {
    m = Times(m, 0.5);
    ++k;
  }
  // log(m) = 2 artanh(s), |s| < 0.172.
  const DoubleDouble s = (m - 1) / (m + 1);
  const DoubleDouble square = s * s;
  DoubleDouble sum = 0;
  for (int n = 45; n >= 1; n -= 2) sum = sum * square + DoubleDouble(1) / static_cast<double>(n);
  return k * kLn2 + Times(s, 2) * sum;
}

DoubleDouble Sqrt(const DoubleDouble& a) {
  if (a.hi() == 0 || a.hi() != a.hi() || a.hi() == kInfinity) return a.hi();
  if (a.hi() < 0) return kNan;
  DoubleDouble m = a;
  const int k = Normalise(m) & ~1;
  m = Scale(a, -k);
  const double root = std::sqrt(m.hi());
  const DoubleDouble rest = m - DoubleDouble::Product(root, root);
  return Scale(DoubleDouble::Sum(root, rest.hi() / (2 * root)), k / 2);
}

DoubleDouble Rsqrt(const DoubleDouble& a) { return 1 / Sqrt(a); }

DoubleDouble Tanh(const DoubleDouble& a) {
  const DoubleDouble x = Fabs(a);
  if (x.hi() != x.hi()) return x.hi();
  DoubleDouble v;
  if (x.hi() > 40) {
    v = 1;
  } else if (x.hi() < 0.17) {
    const DoubleDouble t = ExpM1Reduced(Times(x, 2));
    v = t / (t + 2);
  } else {
    const DoubleDouble t = Exp(Times(x, 2));
    v = (t - 1) / (t + 1);
  }
  return a.hi() < 0 ? -v : v;
}

DoubleDouble Erf(const DoubleDouble& a) {
  if (a.hi() != a.hi() || a.hi() == 0) return a.hi();
  if (std::fabs(a.hi()) > 8.6) return a.hi() < 0 ? -1 : 1;
  // 2/sqrt(pi) x exp(-x^2) times the sum of (2 x^2)^n / (1 * 3 * ... * (2n + 1)), whose terms are all positive.
  const DoubleDouble square = a * a;
  const DoubleDouble doubled = Times(square, 2);
  DoubleDouble term = 1;
  DoubleDouble sum = 1;
  for (int n = 1; n < 400 && term.hi() > 0x1p-112 * sum.hi(); ++n) {
    term = term * doubled / static_cast<double>(2 * n + 1);
    sum += term;
  }
  return kTwoOverRootPi * a * Exp(-square) * sum;
}

DoubleDouble Sin(const DoubleDouble& a) {
  if (!IsFinite(a.hi())) return kNan;
  if (a.hi() == 0) return a.hi();
  return Circular(Reduce(a));
}

DoubleDouble Cos(const DoubleDouble& a) {
  if (!IsFinite(a.hi())) return kNan;
  Angle angle = Reduce(a);
  angle.quadrant = (angle.quadrant + 1) & 3;
  return Circular(angle);
}

DoubleDouble Pow(const DoubleDouble& x, const DoubleDouble& y) {
  if (y.hi() == 0 || x == 1) return 1;
  if (x.hi() != x.hi() || y.hi() != y.hi()) return kNan;
  const DoubleDouble base = Fabs(x);
  const bool odd = IsOddInteger(y);
  if (!IsFinite(y.hi())) {
    if (base == 1) return 1;
    return (base > 1) == (y.hi() > 0) ? kInfinity : 0;
  }
  const bool negative = std::signbit(x.hi());
  if (base.hi() == 0 || base.hi() == kInfinity) {
    const double limit = (base.hi() == 0) == (y.hi() > 0) ? 0 : kInfinity;
    return negative && odd ? -limit : limit;
  }
  if (negative && !IsInteger(y)) return kNan;
  const DoubleDouble v = Exp(y * Log(base));
  return negative && odd ? -v : v;
}

}  // namespace assay::numerics
