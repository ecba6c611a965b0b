#include "assay/rounding/decision.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

namespace assay::rounding {
namespace {

using numerics::Grid;

std::uint32_t BitsOf(float v) { return std::bit_cast<std::uint32_t>(v); }

double Uniform(std::mt19937_64& random, double from, double to) {
  return std::uniform_real_distribution<double>(from, to)(random);
}

// A value near a boundary, or near a power of two, zero, the denormal numbers or the end of the range, and a distance of any size.
struct Probe {
  double y;
  double d;
};
Probe RandomProbe(const Grid& grid, std::mt19937_64& random) {
  const std::uint32_t mask = ~((1u << (32 - grid.bits())) - 1);
  std::uint32_t pattern = static_cast<std::uint32_t>(random()) & mask;
  switch (random() % 6) {
    case 0: pattern &= 0xff800000u; break;         // a power of two
    case 1: pattern &= 0x80ffffffu & mask; break;  // denormal or nearly
    case 2: pattern = (0x7f7fffffu & mask) | (pattern & 0x80000000u); break;
    case 3: pattern = (pattern & 0x87ffffffu & mask) | 0x38000000u; break;
    default: break;
  }
  if ((pattern & 0x7f800000u) == 0x7f800000u) pattern ^= 0x40000000u;
  const double at = double{std::bit_cast<float>(pattern)};
  const double gap = grid.Spacing(at);
  const double d = gap * std::exp2(Uniform(random, -30, random() % 8 == 0 ? 4 : -2));
  const double boundary = random() % 4 == 0 ? 0.0 : random() % 4 == 0 ? -0.25 : 0.5;
  return {at + gap * boundary + d * Uniform(random, -1.2, 1.2), d};
}

TEST(Decision, WhoeverIsCloseEnoughFollows) {
  std::mt19937_64 random(1);
  int narrow = 0;
  int wide = 0;
  int corrected = 0;
  for (int bits = Grid::kMinBits; bits <= Grid::kMaxBits; ++bits) {
    const Grid grid(bits);
    for (int i = 0; i < 60000; ++i) {
      const auto [y, d] = RandomProbe(grid, random);
      const float taken = grid.Round(y);
      const auto decision = Decide(grid, y, d, 7);
      double other = y + d * (i % 3 == 0 ? (random() % 2 == 0 ? 1 : -1) : Uniform(random, -1, 1));
      if (std::fabs(other - y) > d) other = y;  // the sum was rounded
      if (!decision) {
        ASSERT_EQ(BitsOf(grid.Round(other)), BitsOf(taken)) << std::hexfloat << y << " " << d << " " << other;
        continue;
      }
      (decision->wide ? wide : narrow) += 1;
      const Followed followed = Follow(grid, *decision, other, d);
      ASSERT_EQ(BitsOf(followed.value), BitsOf(taken))
          << std::hexfloat << y << " " << d << " " << other << " wide " << decision->wide;
      ASSERT_TRUE(followed.admissible) << std::hexfloat << y << " " << d << " " << other;
      ASSERT_EQ(followed.corrected, BitsOf(grid.Round(other)) != BitsOf(taken));
      corrected += followed.corrected ? 1 : 0;
    }
  }
  std::printf("%d narrow and %d wide decisions, %d corrections\n", narrow, wide, corrected);
  EXPECT_GT(narrow, 100000);
  EXPECT_GT(wide, 10000);
  EXPECT_GT(corrected, 10000);
}

TEST(Decision, FalseOnesAreInadmissible) {
  std::mt19937_64 random(2);
  for (int bits = Grid::kMinBits; bits <= Grid::kMaxBits; ++bits) {
    const Grid grid(bits);
    for (int i = 0; i < 20000; ++i) {
      const auto [y, d] = RandomProbe(grid, random);
      const Choice choice = ChoiceAt(grid, y, d);
      // Every value outside of what correct evaluations can round to.
      for (const float outside :
           {grid.Round(y + 2 * d + 2 * grid.Spacing(y)), grid.Round(y - 2 * d - 2 * grid.Spacing(y)), -choice.lo}) {
        if (choice.holds(outside)) continue;
        EXPECT_FALSE(Follow(grid, {.position = 0, .wide = true, .up = false, .value = outside}, y, d).admissible);
        EXPECT_FALSE(CanRoundTo(grid, y, d / 4, outside));
      }
      // A direction that leads out of it.
      for (const bool up : {false, true}) {
        const Followed followed = Follow(grid, {.position = 0, .wide = false, .up = up, .value = 0}, y, d);
        EXPECT_EQ(followed.admissible, choice.holds(followed.value));
      }
      if (!choice.open() && std::isfinite(choice.lo)) {
        int admissible = 0;
        for (const bool up : {false, true}) {
          admissible += Follow(grid, {.position = 0, .wide = false, .up = up, .value = 0}, y, d).admissible ? 1 : 0;
        }
        EXPECT_LE(admissible, 1) << std::hexfloat << y << " " << d;
      }
    }
  }
}

TEST(Decision, OddValues) {
  const Grid grid(28);
  const float infinity = std::numeric_limits<float>::infinity();
  const double far = std::numeric_limits<double>::infinity();
  const auto wide = [](float value) { return Decision{.position = 0, .wide = true, .up = false, .value = value}; };
  EXPECT_FALSE(Decide(grid, far, 1, 0));
  EXPECT_FALSE(Decide(grid, std::nan(""), 1, 0));
  EXPECT_FALSE(Decide(grid, 1.5, 0, 0));
  EXPECT_FALSE(Follow(grid, wide(infinity), far, 1).admissible);
  EXPECT_FALSE(Follow(grid, {}, std::nan(""), 1).admissible);
  EXPECT_FALSE(Follow(grid, wide(std::nanf("")), 1.0, far).admissible);
  EXPECT_FALSE(Follow(grid, wide(std::bit_cast<float>(0x3f800001u)), 1.0, 1.0).admissible) << "not on the grid";
  EXPECT_TRUE(Follow(grid, wide(1.0f), 1.0, 1.0).admissible);
  // Where nothing is known, any value may be the right one.
  EXPECT_EQ(Reach(std::nan("")), far);
  EXPECT_EQ(Decide(grid, 1.0, far, 3), (Decision{.position = 3, .wide = true, .up = false, .value = 1.0f}));
  EXPECT_TRUE(Follow(grid, wide(-infinity), 1.0, far).admissible);
  // A zero whose sign is open.
  const auto zero = Decide(grid, -0x1p-200, 0x1p-190, 0);
  ASSERT_TRUE(zero && zero->wide);
  EXPECT_EQ(BitsOf(Follow(grid, *zero, 0x1p-191, 0x1p-190).value), 0x80000000u);
  EXPECT_FALSE(Follow(grid, *zero, 0x1p-180, 0x1p-190).admissible);
  EXPECT_FALSE(Decide(grid, 0.0, 0, 0));
}

TEST(Decision, RefereeAcceptsWhatCorrectEvaluationsGive) {
  std::mt19937_64 random(3);
  for (int bits = Grid::kMinBits; bits <= Grid::kMaxBits; bits += 4) {
    const Grid grid(bits);
    for (int i = 0; i < 50000; ++i) {
      const auto [y, d] = RandomProbe(grid, random);
      const double e = d / 2;
      const auto truth = numerics::DoubleDouble::Sum(y, y * Uniform(random, -0x1p-54, 0x1p-54));
      const double other = y + e * Uniform(random, -1, 1);
      if (ToDouble(Fabs(truth - numerics::DoubleDouble(other))) > e) continue;
      ASSERT_TRUE(CanRoundTo(grid, truth, e, grid.Round(other))) << std::hexfloat << y << " " << e << " " << other;
    }
  }
  const Grid grid(32);
  EXPECT_FALSE(CanRoundTo(grid, 1.0, 0x1p-30, std::nextafter(1.0f, 2.0f)));
  EXPECT_FALSE(CanRoundTo(Grid(24), 1.0, 1, std::nextafter(1.0f, 2.0f)));
}

// Truths of all sorts: anywhere, beside boundaries, at grid values and powers of two, near zero; with bounds far below and above the spacing.
struct Case {
  numerics::DoubleDouble x;
  double e = 0;
};
Case RandomCase(const numerics::Grid& grid, std::mt19937_64& random) {
  const auto unit = [&] { return std::uniform_real_distribution<double>(-1, 1)(random); };
  const int exponent = random() % 20 == 0 ? -140 : static_cast<int>(random() % 40) - 20;
  double x = std::ldexp(1 + std::fabs(unit()), exponent);
  const auto r = grid.Round(x);
  const double e = std::ldexp(std::fabs(unit()) + 1e-3, static_cast<int>(random() % 34) - 30) * grid.Spacing(x);
  switch (random() % 5) {
    case 0: x = (double{r} + double{grid.Above(r)}) / 2 + 3 * e * unit(); break;
    case 1: x = double{r} + 3 * e * unit(); break;
    case 2: x = std::ldexp(1.0, exponent) + 3 * e * unit(); break;
    case 3: x = 3 * e * unit(); break;
    default: break;
  }
  return {numerics::DoubleDouble::Sum(random() % 2 == 0 ? x : -x, 1e-20 * x * unit()), e};
}

// Nobody who computes within the bound and does as it should is ever taken for a liar or for the writer of a false log.
TEST(Judged, HonestWritersAndFollowersAreFound) {
  std::mt19937_64 random(11);
  std::uint64_t decided = 0, silent = 0, admitted = 0;
  for (int i = 0; i < 400000; ++i) {
    const numerics::Grid grid(24 + static_cast<int>(random() % 9));
    const auto [x, e] = RandomCase(grid, random);
    const auto near = [&] {
      const double t =
          random() % 4 == 0 ? (random() % 2 == 0 ? 1.0 : -1.0) : std::uniform_real_distribution<double>(-1, 1)(random);
      const double at = x.hi() + e * t + 0.0;
      return std::fabs(numerics::ToDouble(x - numerics::DoubleDouble(at))) <= e ? at : x.hi() + 0.0;  // the sum was rounded
    };
    const double y = near(), follower = near();
    const float written = grid.Round(y);
    const auto decision = Decide(grid, y, Reach(e), 0);
    if (decision) {
      ++decided;
      ASSERT_TRUE(CanFollowTo(grid, *decision, x, e, written)) << y << " of " << x.hi() << " within " << e;
      ASSERT_TRUE(CanRoundTo(grid, x, e, written)) << y << " of " << x.hi() << " within " << e;
      const Followed followed = Follow(grid, *decision, follower, Reach(e));
      ASSERT_TRUE(followed.admissible);
      ASSERT_TRUE(CanFollowTo(grid, *decision, x, e, followed.value)) << follower << " of " << x.hi() << " within " << e;
    } else {
      ++silent;
      ASSERT_FALSE(MustDecide(grid, x, e, written)) << y << " of " << x.hi() << " within " << e;
      ASSERT_TRUE(CanRoundTo(grid, x, e, written));
    }
    // Whatever somebody else wrote: who follows what is admissible to it does what the log says.
    Decision any{.position = 0, .wide = random() % 2 == 0, .up = random() % 2 == 0};
    if (any.wide && random() % 2 == 0) {
      any.modulus = static_cast<std::uint8_t>(1 + random() % kMaxModulus);
      any.residue = static_cast<std::uint32_t>(random()) & ((1u << any.modulus) - 1);
    } else if (any.wide) {
      any.value = grid.Round(near() + 2 * (near() - x.hi()));
    }
    const Followed followed = Follow(grid, any, follower, Reach(e));
    if (!followed.admissible) continue;
    ++admitted;
    ASSERT_TRUE(CanFollowTo(grid, any, x, e, followed.value)) << follower << " of " << x.hi() << " within " << e;
    ASSERT_TRUE(CanRoundTo(grid, x, 3 * e, followed.value)) << follower << " of " << x.hi() << " within " << e;
  }
  std::printf("%llu decided, %llu silent, %llu followed\n", static_cast<unsigned long long>(decided),
              static_cast<unsigned long long>(silent), static_cast<unsigned long long>(admitted));
  EXPECT_GT(decided, 50000u);
  EXPECT_GT(silent, 50000u);
  EXPECT_GT(admitted, 50000u);
}

}  // namespace
}  // namespace assay::rounding
