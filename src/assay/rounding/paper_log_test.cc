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

}  // namespace
}  // namespace assay::rounding
