#include "assay/numerics/functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "assay/base/philox.h"
#include "support/truth.h"

namespace assay::numerics {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMin = 0x1p-149f;
constexpr float kMax = 0x1.fffffep127f;

float FromBits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t ToBits(float x) { return std::bit_cast<std::uint32_t>(CanonicalNan(x)); }

// Every exponent and sign, with `step` between neighbouring bit patterns, and the neighbourhoods of special arguments.
std::vector<float> Arguments(std::uint32_t step) {
  std::vector<float> arguments;
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += step) {
    arguments.push_back(FromBits(static_cast<std::uint32_t>(bits)));
  }
  for (float center : {0.0f, kMin, 0x1p-126f, 0.6f, 1.0f, 0.6666667f, 1.3333334f, 1.5707964f, 3.1415927f, 3.95f, 10.0f,
                       88.722839f, 87.336544f, 103.97208f, 105.0f, 131072.0f, 0x1p-100f, kMax, kInf}) {
    for (std::uint32_t offset = 0; offset < 200; ++offset) {
      for (float sign : {1.0f, -1.0f}) {
        arguments.push_back(std::copysign(FromBits(ToBits(center) + offset - 100), sign));
      }
    }
  }
  return arguments;
}

TEST(Functions, AtMostOneUlp) {
  for (const Truth& truth : kTruths) {
    double worst = 0;
    float where = 0;
    for (float x : Arguments(3001)) {
      const double error = ErrorAt(truth, x, truth.ours(x));
      if (error > worst) {
        worst = error;
        where = x;
      }
    }
    EXPECT_LE(worst, 1.0) << truth.name << " at " << std::hexfloat << where;
    RecordProperty(truth.name, std::to_string(worst));
  }
}

#ifdef ASSAY_HAVE_MPFR
TEST(Functions, AtMostOneUlpOfMpfr) {
  for (const Truth& truth : kTruths) {
    for (float x : Arguments(400009)) {
      ASSERT_LE(UlpError(truth.ours(x), ExactValue(truth, x)), 1.0) << truth.name << " at " << std::hexfloat << x;
    }
  }
}

double ExactPow(float x, float y) {
  mpfr_t a, b, z;
  mpfr_inits2(24, a, b, static_cast<mpfr_ptr>(nullptr));
  mpfr_init2(z, 120);
  mpfr_set_flt(a, x, MPFR_RNDN);
  mpfr_set_flt(b, y, MPFR_RNDN);
  mpfr_pow(z, a, b, MPFR_RNDN);
  const double value = mpfr_get_d(z, MPFR_RNDN);
  mpfr_clears(a, b, z, static_cast<mpfr_ptr>(nullptr));
  return value;
}

TEST(Functions, PowAtMostOneUlpOfMpfr) {
  for (std::uint32_t i = 0; i < 60000; ++i) {
    const PhiloxBlock draw = Philox({1, 2}, {i, 0, 0, 0});
    const float x = FromBits(draw[0] & 0x7fffffff);
    // Half of the exponents keep the result in range; the others are any bits.
    const float y = i % 2 == 0 ? FromBits(draw[1]) : (static_cast<float>(draw[1] % 8192) - 4096.0f) / 64.0f;
    ASSERT_LE(UlpError(PowScalar(x, y), ExactPow(x, y)), 1.0) << std::hexfloat << x << " to " << y;
  }
}
#endif

TEST(Functions, Specials) {
  const auto expect = [](float got, float want, const char* what) { EXPECT_EQ(ToBits(got), ToBits(want)) << what; };
  using S = Scalar;
  for (const Truth& truth : kTruths) expect(truth.ours(kNan), kNan, truth.name);
  expect(Exp<S>(kInf), kInf, "exp inf");
  expect(Exp<S>(-kInf), 0.0f, "exp -inf");
  expect(Exp<S>(-0.0f), 1.0f, "exp -0");
  expect(Exp<S>(-200.0f), 0.0f, "exp underflow");
  expect(Exp<S>(-103.0f), FromBits(1), "exp denormal");
  expect(Log<S>(0.0f), -kInf, "log 0");
  expect(Log<S>(-0.0f), -kInf, "log -0");
  expect(Log<S>(-1.0f), kNan, "log -1");
  expect(Log<S>(-kInf), kNan, "log -inf");
  expect(Log<S>(kInf), kInf, "log inf");
  expect(Log<S>(1.0f), 0.0f, "log 1");
  for (float x : {0.0f, -0.0f}) {
    expect(Tanh<S>(x), x, "tanh 0");
    expect(Erf<S>(x), x, "erf 0");
    expect(Sin<S>(x), x, "sin 0");
    expect(Cos<S>(x), 1.0f, "cos 0");
  }
  for (float sign : {1.0f, -1.0f}) {
    expect(Tanh<S>(sign * kInf), sign, "tanh inf");
    expect(Erf<S>(sign * kInf), sign, "erf inf");
    expect(Sin<S>(sign * kInf), kNan, "sin inf");
    expect(Cos<S>(sign * kInf), kNan, "cos inf");
  }
  expect(Rsqrt<S>(0.0f), kInf, "rsqrt 0");
  expect(Rsqrt<S>(-0.0f), -kInf, "rsqrt -0");
  expect(Rsqrt<S>(kInf), 0.0f, "rsqrt inf");
  expect(Rsqrt<S>(-1.0f), kNan, "rsqrt -1");
  expect(Rsqrt<S>(4.0f), 0.5f, "rsqrt 4");
}

// IEEE-754's table of special cases, which the C library follows too.
TEST(Functions, PowSpecials) {
  const std::vector<float> values = {0.0f, -0.0f, 1.0f, -1.0f,   2.0f,    -2.0f,          3.0f, -3.0f, 0.5f, -0.5f, 1.5f,
                                     kInf, -kInf, kNan, 0x1p23f, 0x1p24f, 0x1.000002p24f, kMax, -kMax, kMin, -kMin, 8388609.0f};
  for (float x : values) {
    for (float y : values) {
      const float want = static_cast<float>(std::pow(static_cast<double>(x), static_cast<double>(y)));
      EXPECT_EQ(ToBits(PowScalar(x, y)), ToBits(want)) << x << " to " << y;
    }
  }
}

}  // namespace
}  // namespace assay::numerics
