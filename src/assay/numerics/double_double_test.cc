#include "assay/numerics/double_double.h"

#include <gtest/gtest.h>

#ifdef ASSAY_HAVE_MPFR
#include <mpfr.h>
#endif

#include <bit>
#include <random>
#include <vector>

namespace assay::numerics {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Uniform(std::mt19937_64& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}

DoubleDouble RandomAt(std::mt19937_64& random, double from, double to) {
  const double hi = Uniform(random, from, to);
  return random() % 4 == 0 ? DoubleDouble(hi) : DoubleDouble::Sum(hi, hi * Uniform(random, -0x1p-54, 0x1p-54));
}

#ifdef ASSAY_HAVE_MPFR
class Real {
 public:
  explicit Real(mpfr_prec_t precision = 400) { mpfr_init2(v_, precision); }
  explicit Real(const DoubleDouble& a) : Real(2400) {
    mpfr_set_d(v_, a.hi(), MPFR_RNDN);
    mpfr_add_d(v_, v_, a.lo(), MPFR_RNDN);
  }
  Real(const Real&) = delete;
  Real& operator=(const Real&) = delete;
  ~Real() { mpfr_clear(v_); }
  mpfr_ptr get() { return v_; }

 private:
  mpfr_t v_;
};

// log2 of the relative error.
double ErrorBits(Real& truth, const DoubleDouble& got) {
  Real difference(2400);
  mpfr_sub_d(difference.get(), truth.get(), got.hi(), MPFR_RNDN);
  mpfr_sub_d(difference.get(), difference.get(), got.lo(), MPFR_RNDN);
  if (mpfr_zero_p(difference.get()) != 0) return -1000;
  mpfr_div(difference.get(), difference.get(), truth.get(), MPFR_RNDN);
  const double error = std::fabs(mpfr_get_d(difference.get(), MPFR_RNDN));
  return error == error ? std::log2(error) : 1000;
}

struct Case {
  const char* name;
  DoubleDouble (*ours)(const DoubleDouble&);
  int (*truth)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  double from;
  double to;
  double bits = -95;
};

TEST(DoubleDouble, FunctionsAgreeWithMpfr) {
  const Case cases[] = {
      {"exp", Exp, mpfr_exp, -2, 2},
      {"exp", Exp, mpfr_exp, -600, 700},
      {"exp", Exp, mpfr_exp, -1e-6, 1e-6},
      {"log", Log, mpfr_log, 1e-3, 1e3},
      {"log", Log, mpfr_log, 0.999, 1.001},
      {"log", Log, mpfr_log, 1e-280, 1e-270},
      {"log", Log, mpfr_log, 1e300, 1e308},
      {"sqrt", Sqrt, mpfr_sqrt, 0, 1e6},
      {"sqrt", Sqrt, mpfr_sqrt, 1e307, 1.7e308},
      {"sqrt", Sqrt, mpfr_sqrt, 0, 1e-250},
      {"rsqrt", Rsqrt, mpfr_rec_sqrt, 0, 10},
      {"tanh", Tanh, mpfr_tanh, -3, 3},
      {"tanh", Tanh, mpfr_tanh, -0.2, 0.2},
      {"tanh", Tanh, mpfr_tanh, -1e-9, 1e-9},
      {"tanh", Tanh, mpfr_tanh, -50, 50},
      {"erf", Erf, mpfr_erf, -1, 1},
      {"erf", Erf, mpfr_erf, -10, 10},
      {"erf", Erf, mpfr_erf, -1e-9, 1e-9},
      {"sin", Sin, mpfr_sin, -1, 1},
      {"sin", Sin, mpfr_sin, -1e5, 1e5},
      {"sin", Sin, mpfr_sin, -1e15, 1e15, -92},
      {"sin", Sin, mpfr_sin, -1e38, 1e38, -92},
      {"sin", Sin, mpfr_sin, -8e307, 8e307, -92},
      {"cos", Cos, mpfr_cos, -2, 2},
      {"cos", Cos, mpfr_cos, -1e5, 1e5},
      {"cos", Cos, mpfr_cos, -1e38, 1e38, -92},
  };
  std::mt19937_64 random(1);
  for (const Case& c : cases) {
    double worst = -1000;
    for (int i = 0; i < 1500; ++i) {
      const DoubleDouble a = RandomAt(random, c.from, c.to);
      Real argument(a);
      Real truth;
      c.truth(truth.get(), argument.get(), MPFR_RNDN);
      worst = std::max(worst, ErrorBits(truth, c.ours(a)));
    }
    EXPECT_LT(worst, c.bits) << c.name << " from " << c.from << " to " << c.to;
  }
}

TEST(DoubleDouble, CircularFunctionsAtMultiplesOfAQuarterTurn) {
  // The doubles next to k pi/2: relative error is kept where the result is nearly zero. The last is the worst case among all doubles.
  std::vector<double> probes = {0x1.921fb54442d18p+0, 0x1.921fb54442d18p+1, 0x1.6ac5b262ca1ffp+849, 0x1.0p1023, 0x1.fffffep127};
  for (int k = 1; k < 2000; k += 7) probes.push_back(k * 0x1.921fb54442d18p+0);
  for (const double y : probes) {
    for (const double x : {y, -y}) {
      Real argument{DoubleDouble(x)};
      Real sine;
      Real cosine;
      mpfr_sin(sine.get(), argument.get(), MPFR_RNDN);
      mpfr_cos(cosine.get(), argument.get(), MPFR_RNDN);
      EXPECT_LT(ErrorBits(sine, Sin(DoubleDouble(x))), -100) << x;
      EXPECT_LT(ErrorBits(cosine, Cos(DoubleDouble(x))), -100) << x;
    }
  }
}

TEST(DoubleDouble, ArithmeticAndPowAgreeWithMpfr) {
  std::mt19937_64 random(2);
  double worst[5] = {-1000, -1000, -1000, -1000, -1000};
  for (int i = 0; i < 5000; ++i) {
    const double scale = std::ldexp(1, static_cast<int>(random() % 200) - 100);
    const DoubleDouble a = RandomAt(random, -2, 2) * DoubleDouble(scale);
    const DoubleDouble b = i % 3 == 0 ? -a * DoubleDouble(1 + 0x1p-50) : RandomAt(random, -2, 2);
    const DoubleDouble base = Fabs(RandomAt(random, 0.001, 4));
    const DoubleDouble exponent = RandomAt(random, -8, 8);
    Real x(a);
    Real y(b);
    Real p(base);
    Real q(exponent);
    Real truth(2400);
    mpfr_add(truth.get(), x.get(), y.get(), MPFR_RNDN);
    worst[0] = std::max(worst[0], ErrorBits(truth, a + b));
    mpfr_sub(truth.get(), x.get(), y.get(), MPFR_RNDN);
    worst[1] = std::max(worst[1], ErrorBits(truth, a - b));
    mpfr_mul(truth.get(), x.get(), y.get(), MPFR_RNDN);
    worst[2] = std::max(worst[2], ErrorBits(truth, a * b));
    mpfr_div(truth.get(), x.get(), y.get(), MPFR_RNDN);
    worst[3] = std::max(worst[3], ErrorBits(truth, a / b));
    Real power;
    mpfr_pow(power.get(), p.get(), q.get(), MPFR_RNDN);
    worst[4] = std::max(worst[4], ErrorBits(power, Pow(base, exponent)));
  }
  for (int k = 0; k < 4; ++k) EXPECT_LT(worst[k], -102) << k;
  EXPECT_LT(worst[4], -95);
}
#endif  // ASSAY_HAVE_MPFR

// Every function and operation at every pair of odd arguments: what IEEE's functions of the first part say about being finite holds here too, and lo is zero beside infinities.
TEST(DoubleDouble, ExtremesAreSane) {
  const double odd[] = {0.0,       -0.0,       1.0,          -1.0,   2.0,     -2.0,   3.0,    0.5,     -0.5,
                        0x1p-1074, -0x1p-1074, 0x1p-1022,    1e-300, -1e-300, 1e300,  -1e300, 1.7e308, -1.7e308,
                        kInfinity, -kInfinity, std::nan(""), 709.0,  710.5,   -745.0, -750.0, 0x1p53};
  struct Function {
    DoubleDouble (*ours)(const DoubleDouble&);
    double (*plain)(double);
  };
  const Function functions[] = {
      {Exp, [](double x) { return std::exp(x); }},   {Log, [](double x) { return std::log(x); }},
      {Sqrt, [](double x) { return std::sqrt(x); }}, {Rsqrt, [](double x) { return 1 / std::sqrt(x); }},
      {Tanh, [](double x) { return std::tanh(x); }}, {Erf, [](double x) { return std::erf(x); }},
      {Sin, [](double x) { return std::sin(x); }},   {Cos, [](double x) { return std::cos(x); }}};
  const auto agree = [](const DoubleDouble& got, double plain) {
    if (plain != plain) return got.hi() != got.hi();
    if (std::isinf(plain) || plain == 0) return got.hi() == plain || (plain == 0 && std::fabs(got.hi()) < 0x1p-1070);
    return std::fabs(got.hi() - plain) <= 0x1p-50 * std::fabs(plain) + 0x1p-1073 && std::isfinite(got.lo());
  };
  for (const double a : odd) {
    for (std::size_t f = 0; f < std::size(functions); ++f) {
      const DoubleDouble got = functions[f].ours(a);
      EXPECT_TRUE(agree(got, functions[f].plain(a))) << "function " << f << " at " << a << ": " << got.hi();
    }
    for (const double b : odd) {
      const DoubleDouble x(a);
      const DoubleDouble y(b);
      EXPECT_TRUE(agree(x + y, a + b)) << a << " + " << b << ": " << (x + y).hi();
      EXPECT_TRUE(agree(x - y, a - b)) << a << " - " << b << ": " << (x - y).hi();
      EXPECT_TRUE(agree(x * y, a * b)) << a << " * " << b << ": " << (x * y).hi();
      EXPECT_TRUE(agree(x / y, a / b)) << a << " / " << b << ": " << (x / y).hi();
      EXPECT_TRUE(agree(Pow(x, y), std::pow(a, b))) << a << " ^ " << b << ": " << Pow(x, y).hi() << " not " << std::pow(a, b);
      EXPECT_EQ(x < y, a < b);
      EXPECT_EQ(x <= y, a <= b);
      EXPECT_EQ(x == y, a == b);
    }
  }
}

// Bits that every machine must give: they were written down on one.
TEST(DoubleDouble, GivesTheSameBitsEverywhere) {
  std::mt19937_64 random(3);
  std::uint64_t hash = 0;
  const auto add = [&](const DoubleDouble& v) {
    for (const double part : {v.hi(), v.lo()})
      hash = (hash ^ std::bit_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15u + (hash >> 29);
  };
  for (int i = 0; i < 2000; ++i) {
    const double hi = static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-60;
    const DoubleDouble a = DoubleDouble::Sum(hi, static_cast<double>(static_cast<std::int64_t>(random())) * 0x1p-117);
    for (const DoubleDouble& v :
         {Exp(a), Log(Fabs(a)), Sqrt(Fabs(a)), Rsqrt(Fabs(a)), Tanh(a), Erf(a), Sin(a), Cos(a), Pow(Fabs(a), a)})
      add(v);
  }
  EXPECT_EQ(hash, 9567934554755670477u);
}

}  // namespace
}  // namespace assay::numerics
