// The SIMD policy against the scalar one, bit for bit, for each instruction set of this build that the machine has.
#ifdef HWY_DISABLED_TARGETS  // absent from builds without Highway
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/numerics/simd_test.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "assay/numerics/random-inl.h"
#include "assay/numerics/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::numerics::HWY_NAMESPACE {

using Vector = Simd::F;

template <Vector (*function)(Vector)>
void Apply1(const float* x, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += Simd::kLanes) Simd::Store(function(Simd::Load(x + i)), y + i);
}

template <Vector (*function)(Vector, Vector)>
void Apply2(const float* a, const float* b, float* y, std::size_t n) {
  for (std::size_t i = 0; i < n; i += Simd::kLanes) Simd::Store(function(Simd::Load(a + i), Simd::Load(b + i)), y + i);
}

HWY_INLINE Vector PowOf(Vector x) { return Pow<Simd>(x, 2.5f); }
HWY_INLINE Vector AtMostOf(Vector x) { return Simd::AtMost(x, 1.5f); }
HWY_INLINE Vector AtLeastOf(Vector x) { return Simd::AtLeast(x, -1.5f); }
HWY_INLINE Vector ToFloatOf(Vector x) { return Simd::ToFloat(Simd::Bits(x)); }

// In the order of kUnary and kBinary below.
constexpr void (*kSimdUnary[])(const float*, float*, std::size_t) = {
    Apply1<Exp<Simd>>,  Apply1<Log<Simd>>,       Apply1<Tanh<Simd>>,    Apply1<Erf<Simd>>,     Apply1<Sin<Simd>>,
    Apply1<Cos<Simd>>,  Apply1<Rsqrt<Simd>>,     Apply1<PowOf>,         Apply1<Simd::Sqrt>,    Apply1<Simd::Abs>,
    Apply1<Simd::Neg>,  Apply1<Simd::Canonical>, Apply1<AtMostOf>,      Apply1<AtLeastOf>,     Apply1<ToFloatOf>,
    Apply1<Relu<Simd>>, Apply1<GeluTanh<Simd>>,  Apply1<GeluErf<Simd>>, Apply1<Sigmoid<Simd>>, Apply1<Silu<Simd>>};
constexpr void (*kSimdBinary[])(const float*, const float*, float*, std::size_t) = {
    Apply2<Simd::Add>,      Apply2<Simd::Sub>,          Apply2<Simd::Mul>,         Apply2<Simd::Div>,     Apply2<Simd::Max>,
    Apply2<ReluGrad<Simd>>, Apply2<GeluTanhGrad<Simd>>, Apply2<GeluErfGrad<Simd>>, Apply2<SiluGrad<Simd>>};

// Elements [4 * first, 4 * first + n), n a multiple of a vector's draws.
void FillDraws(const DrawKey& key, std::uint32_t first, std::uint32_t* out, std::size_t n) {
  HWY_ALIGN std::uint32_t buffer[kDraws];
  for (std::size_t i = 0; i < n; i += kDraws) {
    DrawBlocks(key, first + static_cast<std::uint32_t>(i / 4), buffer);
    for (std::size_t k = 0; k < kDraws; ++k) out[i + k] = buffer[k];
  }
}

}  // namespace assay::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "assay/base/philox.h"

namespace assay::numerics {
namespace {

constexpr std::size_t kCount = std::size_t{1} << 20;

float FromBits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
std::uint32_t ToBits(float x) { return std::bit_cast<std::uint32_t>(CanonicalNan(x)); }

struct Unary {
  const char* name;
  float (*function)(float);
};
struct Binary {
  const char* name;
  float (*function)(float, float);
};

const std::vector<Unary> kUnary = {{"exp", Exp<Scalar>},
                                   {"log", Log<Scalar>},
                                   {"tanh", Tanh<Scalar>},
                                   {"erf", Erf<Scalar>},
                                   {"sin", Sin<Scalar>},
                                   {"cos", Cos<Scalar>},
                                   {"rsqrt", Rsqrt<Scalar>},
                                   {"pow", [](float x) { return PowScalar(x, 2.5f); }},
                                   {"sqrt", Scalar::Sqrt},
                                   {"abs", Scalar::Abs},
                                   {"neg", Scalar::Neg},
                                   {"canonical", Scalar::Canonical},
                                   {"at_most", [](float x) { return Scalar::AtMost(x, 1.5f); }},
                                   {"at_least", [](float x) { return Scalar::AtLeast(x, -1.5f); }},
                                   {"to_float", [](float x) { return Scalar::ToFloat(Scalar::Bits(x)); }},
                                   {"relu", Relu<Scalar>},
                                   {"gelu_tanh", GeluTanh<Scalar>},
                                   {"gelu_erf", GeluErf<Scalar>},
                                   {"sigmoid", Sigmoid<Scalar>},
                                   {"silu", Silu<Scalar>}};
const std::vector<Binary> kBinary = {{"add", Scalar::Add},
                                     {"sub", Scalar::Sub},
                                     {"mul", Scalar::Mul},
                                     {"div", Scalar::Div},
                                     {"max", Scalar::Max},
                                     {"relu_grad", ReluGrad<Scalar>},
                                     {"gelu_tanh_grad", GeluTanhGrad<Scalar>},
                                     {"gelu_erf_grad", GeluErfGrad<Scalar>},
                                     {"silu_grad", SiluGrad<Scalar>}};

struct Target {
  const char* name;
  bool supported;
  std::span<void (*const)(const float*, float*, std::size_t)> unary;
  std::span<void (*const)(const float*, const float*, float*, std::size_t)> binary;
  void (*draws)(const DrawKey&, std::uint32_t, std::uint32_t*, std::size_t);
};

std::vector<Target> Targets() {
  std::vector<Target> targets;
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 =
      avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  targets.push_back({"avx2", avx2, N_AVX2::kSimdUnary, N_AVX2::kSimdBinary, N_AVX2::FillDraws});
  targets.push_back({"avx512", avx512, N_AVX3::kSimdUnary, N_AVX3::kSimdBinary, N_AVX3::FillDraws});
#else
  targets.push_back({"neon", true, N_NEON::kSimdUnary, N_NEON::kSimdBinary, N_NEON::FillDraws});
#endif
  std::erase_if(targets, [](const Target& t) { return !t.supported; });
  return targets;
}

// Bit patterns spread over everything, with moderate and special values mixed in, so that slow and fast lanes share vectors.
std::vector<float> Values(std::uint32_t stream) {
  const std::vector<float> specials = {0.0f,
                                       -0.0f,
                                       1.0f,
                                       -1.0f,
                                       0x1p-149f,
                                       -0x1p-126f,
                                       131072.0f,
                                       FromBits(0x7f800000),
                                       FromBits(0xff800000),
                                       FromBits(0x7fc00000),
                                       FromBits(0xffc12345),
                                       FromBits(0x7f7fffff)};
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const PhiloxBlock draw = Philox({7, 7}, {static_cast<std::uint32_t>(i), stream, 0, 0});
    switch (draw[0] % 4) {
      case 0: values[i] = FromBits(draw[1]); break;
      case 1: values[i] = specials[draw[1] % specials.size()]; break;
      default: values[i] = (static_cast<float>(draw[1] >> 8) * 0x1p-24f - 0.5f) * (draw[0] % 8 < 4 ? 8.0f : 200.0f);
    }
  }
  return values;
}

TEST(Simd, UnaryIsScalarBitForBit) {
  const std::vector<float> x = Values(1);
  std::vector<float> y(kCount);
  for (const Target& target : Targets()) {
    ASSERT_EQ(target.unary.size(), kUnary.size());
    for (std::size_t f = 0; f < kUnary.size(); ++f) {
      target.unary[f](x.data(), y.data(), kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        ASSERT_EQ(ToBits(y[i]), ToBits(kUnary[f].function(x[i])))
            << target.name << " " << kUnary[f].name << " " << ToBits(x[i]);
      }
    }
  }
}

TEST(Simd, BinaryIsScalarBitForBit) {
  const std::vector<float> a = Values(2), b = Values(3);
  std::vector<float> y(kCount);
  for (const Target& target : Targets()) {
    ASSERT_EQ(target.binary.size(), kBinary.size());
    for (std::size_t f = 0; f < kBinary.size(); ++f) {
      target.binary[f](a.data(), b.data(), y.data(), kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        ASSERT_EQ(ToBits(y[i]), ToBits(kBinary[f].function(a[i], b[i])))
            << target.name << " " << kBinary[f].name << " " << ToBits(a[i]) << " " << ToBits(b[i]);
      }
    }
  }
}

TEST(Simd, CanonicalNanBits) {
  std::vector<float> x(64, FromBits(0xff812345)), y(64);
  for (const Target& target : Targets()) {
    target.unary[11](x.data(), y.data(), x.size());
    for (float value : y) EXPECT_EQ(std::bit_cast<std::uint32_t>(value), kCanonicalNan) << target.name;
  }
}

TEST(Simd, DrawsAreScalarDraws) {
  const DrawKey key{.seed = 0x0123456789abcdef, .stream = 0xdeadbeef, .step = 77, .microbatch = 3};
  std::vector<std::uint32_t> draws(1024);
  for (const Target& target : Targets()) {
    for (std::uint32_t first : {0u, 1u, 0x7ffffffeu, 0xffffff00u}) {
      target.draws(key, first, draws.data(), draws.size());
      for (std::size_t i = 0; i < draws.size(); ++i) {
        ASSERT_EQ(draws[i], DrawU32(key, std::int64_t{first} * 4 + static_cast<std::int64_t>(i))) << target.name << " " << i;
      }
    }
  }
}

// Division in vectors is IEEE's, not a reciprocal estimate with corrections: 53 bits hold enough of a quotient of two 24-bit numbers
// that rounding it twice is the same as rounding once.
TEST(Traps, DivisionCorrectlyRounded) {
  const std::vector<float> a = Values(4), b = Values(5);
  std::vector<float> y(kCount);
  for (const Target& target : Targets()) {
    target.binary[3](a.data(), b.data(), y.data(), kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double quotient = static_cast<double>(a[i]) / static_cast<double>(b[i]);
      const float want = static_cast<float>(quotient);
      if (Scalar::Abs(want) < 0x1p-126f && want != 0) continue;  // rounding twice may differ there
      ASSERT_EQ(ToBits(y[i]), ToBits(want)) << target.name << " " << ToBits(a[i]) << " " << ToBits(b[i]);
    }
  }
}

// No instruction set flushes denormal operands or results.
TEST(Traps, DenormalsKept) {
  std::vector<float> denormals(64), ones(64, 1.0f), halves(64, 0.5f), y(64);
  for (std::size_t i = 0; i < denormals.size(); ++i) denormals[i] = FromBits(static_cast<std::uint32_t>(2 * i + 2));
  for (const Target& target : Targets()) {
    target.binary[2](denormals.data(), ones.data(), y.data(), y.size());
    EXPECT_EQ(y, denormals) << target.name;
    target.binary[2](denormals.data(), halves.data(), y.data(), y.size());
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(ToBits(y[i]), i + 1) << target.name;
    target.binary[0](denormals.data(), denormals.data(), y.data(), y.size());
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(ToBits(y[i]), 4 * i + 4) << target.name;
  }
}

}  // namespace
}  // namespace assay::numerics
#endif  // HWY_ONCE
#endif  // HWY_DISABLED_TARGETS
