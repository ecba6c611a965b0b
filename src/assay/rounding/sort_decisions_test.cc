#include "assay/rounding/sort_decisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace assay::rounding {
namespace {

// Residues tell where a decision was, so that equal positions show whether the sort is stable.
std::vector<Decision> Random(std::mt19937_64& random, std::size_t count, std::uint64_t positions) {
  std::vector<Decision> decisions(count);
  for (std::size_t i = 0; i < count; ++i) {
    decisions[i] = {.position = random() % positions, .wide = true, .modulus = 3, .residue = static_cast<std::uint32_t>(i)};
  }
  return decisions;
}

TEST(SortByPosition, IsAStableSort) {
  std::mt19937_64 random(1);
  for (const std::size_t count : {0, 1, 2, 100, 511, 512, 513, 5000}) {
    for (const std::uint64_t positions : {1ull, 2ull, 2048ull, 2049ull, 1ull << 22, 1ull << 40, 1ull << 56, ~0ull}) {
      std::vector<Decision> decisions = Random(random, count, positions);
      std::vector<Decision> expected = decisions;
      std::ranges::stable_sort(expected, {}, &Decision::position);
      SortByPosition(decisions);
      EXPECT_EQ(decisions, expected) << count << " of " << positions;
      SortByPosition(decisions);
      EXPECT_EQ(decisions, expected);
      std::ranges::reverse(decisions);
      std::ranges::stable_sort(expected, std::greater(), &Decision::residue);
      std::ranges::stable_sort(expected, {}, &Decision::position);
      SortByPosition(decisions);
      EXPECT_EQ(decisions, expected);
    }
  }
}

}  // namespace
}  // namespace assay::rounding
