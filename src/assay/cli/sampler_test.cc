#include "assay/cli/sampler.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace assay::cli {
namespace {

const std::vector<float> kLogits = {0.0f, 2.0f, 1.0f, 2.0f, std::numeric_limits<float>::quiet_NaN()};

TEST(Sampler, ZeroTemperatureTakesTheFirstLargest) {
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(NextToken(kLogits, {.temperature = 0, .top_k = 0, .seed = 1}, i), 1);
}

TEST(Sampler, TopKLimitsTheChoice) {
  for (std::uint32_t i = 0; i < 200; ++i) {
    EXPECT_EQ(NextToken(kLogits, {.temperature = 1, .top_k = 1, .seed = 7}, i), 1);
    const std::int64_t token = NextToken(kLogits, {.temperature = 1, .top_k = 2, .seed = 7}, i);
    EXPECT_TRUE(token == 1 || token == 3) << token;
  }
}

TEST(Sampler, FrequenciesFollowTheSoftmax) {
  std::vector<int> counts(kLogits.size());
  constexpr int kDraws = 20000;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    ++counts[static_cast<std::size_t>(NextToken(kLogits, {.temperature = 1, .top_k = 0, .seed = 3}, i))];
  }
  const double e1 = 1.0, e2 = 7.389056, e3 = 2.718282, total = e1 + 2 * e2 + e3;
  EXPECT_NEAR(counts[0] / double{kDraws}, e1 / total, 0.01);
  EXPECT_NEAR(counts[1] / double{kDraws}, e2 / total, 0.01);
  EXPECT_NEAR(counts[2] / double{kDraws}, e3 / total, 0.01);
  EXPECT_NEAR(counts[3] / double{kDraws}, e2 / total, 0.01);
  EXPECT_EQ(counts[4], 0);
}

TEST(Sampler, SeedAndPositionDecide) {
  const std::vector<float> even(1000, 0.0f);
  const SamplerOptions one{.temperature = 1, .top_k = 0, .seed = 1};
  const SamplerOptions two{.temperature = 1, .top_k = 0, .seed = 2};
  EXPECT_EQ(NextToken(even, one, 5), NextToken(even, one, 5));
  EXPECT_NE(NextToken(even, one, 5), NextToken(even, one, 6));
  EXPECT_NE(NextToken(even, one, 5), NextToken(even, two, 5));
}

}  // namespace
}  // namespace assay::cli
