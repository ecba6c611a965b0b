#include "assay/coordinator/rate.h"

#include <gtest/gtest.h>

namespace assay::coordinator {
namespace {

TEST(RateLimit, ABurstIsSpentAndComesBackWithTime) {
  RateLimit limit(10, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Take("a", 0), 0);
  EXPECT_EQ(limit.Take("a", 0), 1);
  EXPECT_EQ(limit.Take("b", 0), 0);
  EXPECT_EQ(limit.Look("a", 99), 1);
  EXPECT_EQ(limit.Look("a", 100), 0);
  EXPECT_EQ(limit.Take("a", 100), 0);
  EXPECT_EQ(limit.Take("a", 100), 1);
  EXPECT_EQ(limit.Take("a", 50), 1);  // a clock that goes back gives nothing
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limit.Take("a", 100'000), 0);
  EXPECT_NE(limit.Take("a", 100'000), 0);
}

TEST(RateLimit, SlowRatesSayHowLong) {
  RateLimit limit(0.1, 1);
  EXPECT_EQ(limit.Take("a", 0), 0);
  EXPECT_EQ(limit.Take("a", 0), 11);
}

}  // namespace
}  // namespace assay::coordinator
