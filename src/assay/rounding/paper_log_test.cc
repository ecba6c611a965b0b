#include "assay/rounding/paper_log.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace assay::rounding {
namespace {

using numerics::Grid;

TEST(PaperLog, RoundTrips) {
  std::mt19937_64 random(1);
  for (const std::size_t n : {0u, 1u, 4u, 5u, 6u, 1000u, 100003u, 327680u, 327681u, 1000000u}) {
    std::vector<std::uint8_t> symbols(n, kNotClose);
    for (std::uint8_t& s : symbols) {
      if (random() % 50 == 0) s = random() % 2 == 0 ? kWentUp : kWentDown;
    }
    const Bytes bytes = EncodePaperLog(symbols);
    const auto decoded = DecodePaperLog(bytes, "log");
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, symbols);
    EXPECT_FALSE(DecodePaperLog(ByteSpan(bytes).first(bytes.size() - 1), "log"));
  }
}

TEST(PaperLog, SurvivesHostileBytes) {
  std::mt19937_64 random(2);
  const Bytes good = EncodePaperLog(std::vector<std::uint8_t>(777, kWentUp));
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = good;
    for (std::uint64_t k = random() % 4 + 1; k > 0; --k) bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    const auto decoded = DecodePaperLog(bytes, "log");
    if (decoded) {
      EXPECT_LE(decoded->size(), 5u * 1032 * bytes.size());
    }
  }
}

TEST(PaperLog, SymbolsLeadToTheSameSide) {
  const Grid grid(28);
  const double gap = grid.Spacing(1);
  const double tau = 0.4 * gap;
  EXPECT_EQ(PaperSymbol(grid, 1 + 0.1 * gap, tau), kNotClose);
  EXPECT_EQ(PaperSymbol(grid, 1 + 0.45 * gap, tau), kWentDown);
  EXPECT_EQ(PaperSymbol(grid, 1 + 0.55 * gap, tau), kWentUp);
  EXPECT_EQ(PaperSymbol(grid, -1 - 0.45 * gap, tau), kWentUp);
  EXPECT_EQ(PaperSymbol(grid, 4 + 4 * 0.45 * gap, tau), kWentDown) << "the threshold grows with the value";
  EXPECT_EQ(PaperSymbol(grid, std::nan(""), tau), kNotClose);
  const auto above = static_cast<float>(1 + gap);
  EXPECT_EQ(PaperFollow(grid, 1 + 0.55 * gap, kWentDown), 1.0f);
  EXPECT_EQ(PaperFollow(grid, 1 + 0.45 * gap, kWentUp), above);
  EXPECT_EQ(PaperFollow(grid, 1 + 0.45 * gap, kWentDown), 1.0f);
  EXPECT_EQ(PaperFollow(grid, 1 + 0.55 * gap, kNotClose), above);
}

TEST(PaperLog, ThresholdIsBelowAllSamples) {
  const Grid grid(28);
  std::mt19937_64 random(3);
  std::vector<TauSample> samples;
  for (int i = 0; i < 100; ++i) {
    const double at = std::ldexp(1.0, static_cast<int>(random() % 20) - 10);
    samples.push_back(
        TauSampleAt(grid, at * (1 + grid.Spacing(1) * std::uniform_real_distribution<double>(0.47, 0.53)(random))));
  }
  const double tau = FindTau(28, samples);
  for (const TauSample& sample : samples) EXPECT_GE(sample.distance, sample.scale * tau);
  EXPECT_GT(tau, 0.46 * grid.Spacing(1));
  EXPECT_NEAR(FindTau(28, {}), 0.5 * grid.Spacing(1), 1e-12) << "nothing differs: write nothing";
  const TauSample exact{.distance = 0, .scale = 1};
  EXPECT_NEAR(FindTau(28, {&exact, 1}), 0x1p-25, 1e-12);
}

// Whoever computes within reach and writes, or follows, by the rule is not taken for a liar; symbols that nobody within reach has are.
TEST(PaperLog, HonestSymbolsCanBeAndOthersCannot) {
  std::mt19937_64 random(5);
  const Grid grid(28);
  const double gap = grid.Spacing(1);
  int flipped = 0;
  for (int i = 0; i < 200000; ++i) {
    const double tau = std::uniform_real_distribution<double>(0.05, 0.49)(random) * gap;
    const double x = (random() % 2 == 0 ? 1 : -1) * std::uniform_real_distribution<double>(1, 1 + 20 * gap)(random);
    const double reach = gap * std::ldexp(1.0, -static_cast<int>(random() % 20));
    const auto near = [&] { return x + std::uniform_real_distribution<double>(-reach, reach)(random); };
    const double y = near(), follower = near();
    const std::uint8_t symbol = PaperSymbol(grid, y, tau);
    const float value = grid.Round(y);
    if (symbol == kNotClose) {
      ASSERT_TRUE(PaperCanBeSilent(grid, x, reach, tau, value));
      continue;
    }
    ASSERT_TRUE(PaperCanHave(grid, x, reach, tau, symbol));
    ASSERT_TRUE(PaperCanHave(grid, follower, 2 * reach, tau, symbol));
    ASSERT_TRUE(PaperCanFollowTo(grid, x, reach, symbol, value));
    ASSERT_TRUE(PaperCanFollowTo(grid, x, reach, symbol, PaperFollow(grid, follower, symbol)));
    // The other way, where no boundary is within reach.
    const std::uint8_t other = symbol == kWentUp ? kWentDown : kWentUp;
    if (grid.Round(x - reach) != grid.Round(x + reach) || reach > gap / 8) continue;
    ++flipped;
    ASSERT_FALSE(PaperCanHave(grid, x, reach, tau, other) && PaperSymbol(grid, x - reach, tau) != other &&
                 PaperSymbol(grid, x + reach, tau) != other);
  }
  EXPECT_GT(flipped, 10000);
  // Not close, and said to be.
  EXPECT_FALSE(PaperCanHave(grid, 1 + 0.1 * gap, 0.01 * gap, 0.25 * gap, kWentUp));
  EXPECT_FALSE(PaperCanHave(grid, 1 + 0.1 * gap, 0.01 * gap, 0.25 * gap, kWentDown));
  // Close, and said to have gone the way that it did not.
  EXPECT_FALSE(PaperCanHave(grid, 1 + 0.4 * gap, 0.01 * gap, 0.25 * gap, kWentUp));
  EXPECT_TRUE(PaperCanHave(grid, 1 + 0.4 * gap, 0.01 * gap, 0.25 * gap, kWentDown));
  EXPECT_TRUE(PaperCanHave(grid, 1 + 0.4 * gap, 0.2 * gap, 0.25 * gap, kWentUp));
}

}  // namespace
}  // namespace assay::rounding
