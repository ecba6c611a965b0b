#include "assay/rounding/sort_decisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace assay::rounding {
namespace {

// Ascending, at most `gap` apart.
std::vector<Decision> Ascending(std::mt19937_64& random, std::size_t count, std::uint64_t gap) {
  std::vector<Decision> decisions(count);
  std::uint64_t position = random() % gap;
  for (std::size_t i = 0; i < count; ++i) {
    decisions[i] = {.position = position, .wide = true, .modulus = 3, .residue = static_cast<std::uint32_t>(i)};
    position += 1 + random() % gap;
  }
  return decisions;
}

TEST(SortByPosition, Sorts) {
  std::mt19937_64 random(1);
  ThreadPool threads(3);
  std::vector<Decision> scratch;
  for (const std::size_t count : std::initializer_list<std::size_t>{0, 1, 2, 100, 511, 512, 513, 5000}) {
    for (const std::uint64_t gap : {1ull, 2ull, 1000ull, 1ull << 40}) {
      const std::vector<Decision> expected = Ascending(random, count, gap);
      for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &threads}) {
        std::vector<Decision> decisions = expected;
        SortByPosition(decisions, scratch, pool);
        EXPECT_EQ(decisions, expected);
        std::ranges::reverse(decisions);
        SortByPosition(decisions, scratch, pool);
        EXPECT_EQ(decisions, expected) << count << " at most " << gap << " apart";
        std::ranges::shuffle(decisions, random);
        SortByPosition(decisions, scratch, pool);
        EXPECT_EQ(decisions, expected) << count << " at most " << gap << " apart";
      }
    }
  }
}

}  // namespace
}  // namespace assay::rounding
