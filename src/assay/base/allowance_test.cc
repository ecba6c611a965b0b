#include "assay/base/allowance.h"

#include <gtest/gtest.h>

#include <limits>

namespace assay {
namespace {

constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();

TEST(Allowance, HoldsWhatIsTakenAgainstBothLimits) {
  Allowance allowance(100, 60, {});
  EXPECT_TRUE(allowance.Take(50));
  EXPECT_EQ(allowance.Take(11).error().message, "memory: the work takes 61 bytes, and 60 bytes are free here");
}

TEST(Allowance, SaysInTheWorkersWordsWhatIsTooMuch) {
  Allowance allowance(256 << 20, 0, {});
  const auto refused = allowance.Take(std::uint64_t{4} << 30);
  EXPECT_EQ(refused.error().message, "memory: the work takes 4.00 GiB, and may take 256 MiB");
  EXPECT_TRUE(refused.error().system) << "the job is not at fault";
  EXPECT_EQ(allowance.taken(), 0);
  EXPECT_FALSE(allowance.Take(kAll));
}

TEST(Allowance, MappedPagesAreNotHeldAgainstWhatIsFree) {
  Allowance allowance(100, 10, {});
  EXPECT_TRUE(allowance.Take(90, Allowance::Kind::kMapped));
  EXPECT_TRUE(allowance.Take(10));
  EXPECT_FALSE(allowance.Take(1, Allowance::Kind::kMapped));
  EXPECT_EQ(allowance.taken(), 100);
}

TEST(Allowance, ALoanIsGivenBack) {
  Allowance allowance(100, 0, {});
  {
    const auto loan = allowance.Borrow(80);
    ASSERT_TRUE(loan);
    EXPECT_FALSE(allowance.Take(21));
  }
  EXPECT_TRUE(allowance.Take(100));
}

TEST(Allowance, WithoutLimitsEverythingIsAllowed) {
  Allowance allowance;
  EXPECT_TRUE(allowance.Take(std::uint64_t{1} << 59));
  EXPECT_TRUE(allowance.Check());
}

TEST(Allowance, EndsWorkThatShouldStop) {
  bool stop = false;
  Allowance allowance(0, 0, [&] { return stop; });
  EXPECT_TRUE(allowance.Take(1));
  stop = true;
  EXPECT_FALSE(allowance.Take(1));
  EXPECT_FALSE(allowance.Check());
}

}  // namespace
}  // namespace assay
