#include "assay/numerics/random.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::numerics {
namespace {

constexpr DrawKey kKey{.seed = 0x123456789abcdef0, .stream = 9, .step = 4, .microbatch = 2};

TEST(Random, CounterLayout) {
  const PhiloxBlock block = Philox({0x9abcdef0u, 0x12345678u}, {25, 9, 4, 2});
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(DrawU32(kKey, 100 + i), block[static_cast<std::size_t>(i)]);
  const std::uint32_t rng[4] = {0x9abcdef0u, 0x12345678u, 4, 2};
  EXPECT_EQ(DrawU32(MakeDrawKey(rng, 9), 101), block[1]);
}

TEST(Random, DropoutThreshold) {
  EXPECT_EQ(DropoutThreshold(0.0f), 0u);
  EXPECT_EQ(DropoutThreshold(0.5f), 0x80000000u);
  EXPECT_EQ(DropoutThreshold(0.1f), 429496736u);  // floor(0.1f * 2^32), 0.1f being a little more than 0.1
  EXPECT_EQ(DropoutThreshold(0x1.fffffep-1f), 0xffffff00u);
  EXPECT_EQ(DropoutThreshold(1.5f * 0x1p-32f), 1u);
  EXPECT_EQ(DropoutFactor(0.5f), 2.0f);
}

TEST(Random, UniformRange) {
  EXPECT_EQ(UniformFrom(0), 0.0f);
  EXPECT_EQ(UniformFrom(0xffffffffu), 0x1.fffffep-1f);
}

TEST(Random, NormalMoments) {
  constexpr std::int64_t kCount = 200000;
  double sum = 0, squares = 0, fourth = 0, neighbours = 0, previous = 0;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const double x = static_cast<double>(DrawNormal(kKey, i));
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
    neighbours += x * previous;
    previous = x;
  }
  // Five standard deviations of each estimate.
  const double n = static_cast<double>(kCount);
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96 / n));
  EXPECT_NEAR(neighbours / n, 0, 5 / std::sqrt(n));
}

TEST(Random, NormalFollowsTheContract) {
  for (std::int64_t i : {std::int64_t{0}, std::int64_t{1}, std::int64_t{6}, std::int64_t{7}, (std::int64_t{1} << 34) - 1}) {
    const float u0 = UniformFrom(DrawU32(kKey, i & ~std::int64_t{1}));
    const float u1 = UniformFrom(DrawU32(kKey, i | 1));
    const float radius = std::sqrt(-2.0f * Log<Scalar>(1.0f - u0));
    const float angle = 6.283185307f * u1;
    EXPECT_EQ(DrawNormal(kKey, i), radius * (i % 2 == 0 ? Cos<Scalar>(angle) : Sin<Scalar>(angle)));
  }
}

// Indices are integers up to the last element: a float counter would repeat positions from 2^24 on.
TEST(Traps, FloatArangeAboveTwoToThe24) {
  constexpr std::int64_t kFirst = std::int64_t{1} << 24;
  for (std::int64_t i = kFirst; i < kFirst + 1000; ++i) {
    EXPECT_NE(DrawU32(kKey, i), DrawU32(kKey, i + 1)) << i;
    EXPECT_EQ(Scalar::ToFloat(static_cast<std::int32_t>(i)), static_cast<float>(static_cast<double>(i))) << i;
  }
  // A step number above 2^24 becomes the nearest binary32 value, ties to even.
  EXPECT_EQ(Scalar::ToFloat(16777217), 16777216.0f);
  EXPECT_EQ(Scalar::ToFloat(16777219), 16777220.0f);
}

}  // namespace
}  // namespace assay::numerics
