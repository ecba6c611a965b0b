// Fused multiply-add in plain arithmetic against this machine's. ASSAY_FMA_CASES says how many random cases of each kind are tried.
#include "assay/numerics/soft_fma.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

namespace assay::numerics {
namespace {

std::int64_t Cases() {
  const char* text = std::getenv("ASSAY_FMA_CASES");
  return text == nullptr ? 300'000 : std::atoll(text);
}

template <class F>
struct Format;
template <>
struct Format<float> {
  using Bits = std::uint32_t;
  static constexpr int kFraction = 23, kExponents = 255;
};
template <>
struct Format<double> {
  using Bits = std::uint64_t;
  static constexpr int kFraction = 52, kExponents = 2047;
};

template <class F>
typename Format<F>::Bits BitsOf(F x) {
  return std::bit_cast<typename Format<F>::Bits>(x);
}

template <class F>
bool Same(F a, F b, F c) {
  const F ours = SoftFma(a, b, c), theirs = std::fma(a, b, c);
  return std::isnan(theirs) ? std::isnan(ours) : BitsOf(ours) == BitsOf(theirs);
}

template <class F>
class SoftFmaTest : public testing::Test {
 protected:
  using Bits = typename Format<F>::Bits;
  using Shape = Format<F>;

  F Make(bool negative, std::int64_t exponent, Bits fraction) {
    const auto field = static_cast<Bits>(std::clamp<std::int64_t>(exponent, 0, Shape::kExponents));
    const auto sign = static_cast<Bits>(negative) << (sizeof(F) * 8 - 1);
    return std::bit_cast<F>(static_cast<Bits>(sign | field << Shape::kFraction | (fraction & Mask())));
  }
  static Bits Mask() { return (Bits{1} << Shape::kFraction) - 1; }
  Bits Any() { return static_cast<Bits>(random_()); }
  // Mantissas with few bits set, or few clear, make ties and long runs of carries.
  Bits Fraction() {
    const std::uint64_t kind = random_() % 4;
    if (kind == 0) return Any();
    const Bits few =
        static_cast<Bits>((Bits{1} << random_() % (Shape::kFraction + 1)) | (Bits{1} << random_() % (Shape::kFraction + 1)));
    if (kind == 1) return few;
    return kind == 2 ? static_cast<Bits>(~few) : static_cast<Bits>(Any() & ~((Bits{1} << Shape::kFraction / 2) - 1));
  }
  bool Coin() { return random_() % 2 == 0; }
  std::int64_t Between(std::int64_t a, std::int64_t b) {
    return a + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(b - a + 1));
  }

  void Expect(F a, F b, F c) {
    if (Same(a, b, c)) return;
    ADD_FAILURE() << std::hexfloat << "fma(" << a << ", " << b << ", " << c << ") is " << std::fma(a, b, c) << ", not "
                  << SoftFma(a, b, c);
  }

  std::mt19937_64 random_{20261118};
};

using Formats = testing::Types<float, double>;
TYPED_TEST_SUITE(SoftFmaTest, Formats);

TYPED_TEST(SoftFmaTest, AnyBits) {
  using F = TypeParam;
  for (std::int64_t i = 0; i < Cases() && !this->HasFailure(); ++i) {
    this->Expect(std::bit_cast<F>(this->Any()), std::bit_cast<F>(this->Any()), std::bit_cast<F>(this->Any()));
  }
}

// The addend is near the product, or near one of its last bits: cancellation, ties, and what lies just beside them.
TYPED_TEST(SoftFmaTest, AddendsNearTheProduct) {
  constexpr int kExponents = Format<TypeParam>::kExponents, kFraction = Format<TypeParam>::kFraction;
  const std::int64_t bias = kExponents / 2;
  for (std::int64_t i = 0; i < Cases() && !this->HasFailure(); ++i) {
    const std::int64_t ea = this->Between(1, kExponents - 1);
    const std::int64_t product = this->Between(-kFraction - 3, kExponents + 1);
    const std::int64_t eb = product + bias - ea, ec = product + this->Between(-2 * kFraction - 6, 2 * kFraction + 6);
    this->Expect(this->Make(this->Coin(), ea, this->Fraction()), this->Make(this->Coin(), eb, this->Fraction()),
                 this->Make(this->Coin(), ec, this->Fraction()));
  }
}

// What is left of a product beside its own rounding, as double-double arithmetic asks for it; and its neighbours.
TYPED_TEST(SoftFmaTest, ErrorsOfProducts) {
  using F = TypeParam;
  for (std::int64_t i = 0; i < Cases() && !this->HasFailure(); ++i) {
    const F a = this->Make(this->Coin(), this->Between(0, Format<F>::kExponents), this->Fraction());
    const F b = this->Make(this->Coin(), this->Between(0, Format<F>::kExponents), this->Fraction());
    const F p = a * b;
    this->Expect(a, b, -p);
    this->Expect(a, b, -std::nextafter(p, F{0}));
    this->Expect(a, b, -std::nextafter(p, p * 2));
  }
}

TYPED_TEST(SoftFmaTest, EveryTripleOfSpecialValues) {
  using F = TypeParam;
  using Limits = std::numeric_limits<F>;
  std::vector<F> values = {0,
                           1,
                           2,
                           3,
                           F(0.5),
                           F(1) / 3,
                           Limits::infinity(),
                           Limits::quiet_NaN(),
                           Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           Limits::epsilon()};
  const std::size_t plain = values.size();
  for (std::size_t i = 0; i < plain; ++i) {
    values.push_back(std::nextafter(values[i], F{0}));
    values.push_back(std::nextafter(values[i], Limits::infinity()));
    values.push_back(std::sqrt(values[i]));
  }
  for (std::size_t i = values.size(); i > 0; --i) values.push_back(-values[i - 1]);
  for (const F a : values) {
    if (this->HasFailure()) break;
    for (const F b : values) {
      for (const F c : values) this->Expect(a, b, c);
    }
  }
}

TEST(SoftFma, WhatTheCLibraryOfWebAssemblyGetsWrong) {
  const float a = -0x1.d5p+12f, b = -0x1.82aap-22f, c = -0x1.132f54p-83f;
  EXPECT_EQ(std::bit_cast<std::uint32_t>(SoftFma(a, b, c)), 0x3b31185cu);
}

}  // namespace
}  // namespace assay::numerics
