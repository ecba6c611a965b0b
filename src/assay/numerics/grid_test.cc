#include "assay/numerics/grid.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace assay::numerics {
namespace {

std::uint32_t BitsOf(float v) { return std::bit_cast<std::uint32_t>(v); }

// The nearest grid value found among the two around y; distances of neighbours are exact in long double.
float NearestByHand(int bits, double y) {
  if (y != y) return std::bit_cast<float>(0x7fc00000u);
  const double magnitude = std::fabs(y);
  const std::uint32_t step = 1u << (32 - bits);
  std::uint32_t below = 0;  // the largest grid value that is not above |y|, by bisection over the patterns
  std::uint32_t count = 0x7f800000u / step;
  for (std::uint32_t first = 0; first < count;) {
    const std::uint32_t middle = first + (count - first + 1) / 2;
    if (double{std::bit_cast<float>(middle * step)} <= magnitude) {
      below = middle * step;
      first = middle;
    } else {
      count = middle - 1;
    }
  }
  const auto value = [](std::uint32_t pattern) -> long double {
    return pattern == 0x7f800000u ? 0x1p128L : std::bit_cast<float>(pattern);
  };
  std::uint32_t chosen = below;
  if (below != 0x7f800000u) {
    const long double down = magnitude - value(below);
    const long double up = value(below + step) - magnitude;
    if (up < down || (up == down && (below / step) % 2 != 0)) chosen = below + step;
  }
  return std::bit_cast<float>(chosen | (std::signbit(y) ? 0x80000000u : 0u));
}

std::vector<double> Probes(int bits, std::mt19937_64& random) {
  constexpr double kBeyond = std::numeric_limits<double>::infinity();
  std::vector<double> probes = {
      0.0,        -0.0,     kBeyond, -kBeyond,       std::nan(""),   -std::nan(""),         0x1p-1074, 0x1p-149, 0x1p-150,
      0x1.8p-149, 0x1p-126, 0x1p127, 0x1.fffffep127, 0x1.ffffffp127, 0x1.fffffefffffffp127, 0x1p128,   0x1p200,  0x1p1023};
  const Grid grid(bits);
  for (int i = 0; i < 4000; ++i) {
    const auto pattern = static_cast<std::uint32_t>(random()) & 0x7fffffffu & ~((1u << (32 - bits)) - 1);
    if (pattern >= 0x7f800000u) continue;
    const double at = double{std::bit_cast<float>(i % 4 == 0 ? pattern & 0x00ffffffu & ~((1u << (32 - bits)) - 1) : pattern)};
    const double gap = grid.Spacing(at);
    for (const double y : {at, at + gap / 2, at + gap / 4, std::nextafter(at + gap / 2, 0),
                           std::nextafter(at + gap / 2, kBeyond), at - gap / 4}) {
      probes.push_back(y);
      probes.push_back(-y);
    }
    probes.push_back(std::bit_cast<double>(random()));
  }
  return probes;
}

TEST(Grid, RoundsToTheNearest) {
  std::mt19937_64 random(1);
  for (int bits = Grid::kMinBits; bits <= Grid::kMaxBits; ++bits) {
    const Grid grid(bits);
    EXPECT_EQ(grid.bits(), bits);
    for (const double y : Probes(bits, random)) {
      ASSERT_EQ(BitsOf(grid.Round(y)), BitsOf(NearestByHand(bits, y))) << bits << " bits, " << std::hexfloat << y;
      if (bits == 32 && y == y) {
        ASSERT_EQ(BitsOf(grid.Round(y)), BitsOf(static_cast<float>(y)));
      }
    }
  }
}

TEST(Grid, NeighboursAreOneSpacingApart) {
  std::mt19937_64 random(2);
  for (int bits = Grid::kMinBits; bits <= Grid::kMaxBits; ++bits) {
    const Grid grid(bits);
    const std::uint32_t step = 1u << (32 - bits);
    EXPECT_EQ(grid.Above(0.0f), std::bit_cast<float>(step));
    EXPECT_EQ(grid.Above(-0.0f), std::bit_cast<float>(step));
    EXPECT_EQ(grid.Below(0.0f), -std::bit_cast<float>(step));
    EXPECT_EQ(grid.Above(std::bit_cast<float>(0x7f800000u - step)), std::numeric_limits<float>::infinity());
    for (const double y : Probes(bits, random)) {
      const float r = grid.Round(y);
      if (!std::isfinite(r)) continue;
      const float above = grid.Above(r);
      ASSERT_GT(above, r);
      if (std::isfinite(above)) {
        ASSERT_EQ(grid.Below(above), r);
        // Nothing lies between: the midpoint rounds to one of the two.
        const float middle = grid.Round(double{r} / 2 + double{above} / 2);
        ASSERT_TRUE(middle == r || middle == above);
        if (r >= 0) {
          ASSERT_EQ(double{above} - double{r}, grid.Spacing(double{r}));
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay::numerics
