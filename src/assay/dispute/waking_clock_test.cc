#include "assay/dispute/waking_clock.h"

#include <gtest/gtest.h>

namespace assay::dispute {
namespace {

TEST(WakingTimeTest, GoesOnWhileThereAreBeats) {
  WakingTime time(1'000);
  EXPECT_EQ(time.Beat(1'000), 1'000);
  EXPECT_EQ(time.Beat(1'200), 1'200);
  EXPECT_EQ(time.Beat(1'200 + WakingTime::kLongestBeatMs), 1'200 + WakingTime::kLongestBeatMs);
}

TEST(WakingTimeTest, StandsStillWhileThereAreNone) {
  WakingTime time(0);
  EXPECT_EQ(time.Beat(500), 500);
  EXPECT_EQ(time.Beat(3'600'500), 500 + WakingTime::kLongestBeatMs);
  EXPECT_EQ(time.Beat(3'600'600), 600 + WakingTime::kLongestBeatMs);
}

TEST(WakingTimeTest, NeverGoesBack) {
  WakingTime time(0);
  EXPECT_EQ(time.Beat(500), 500);
  EXPECT_EQ(time.Beat(400), 500) << "of another thread, which looked earlier";
  EXPECT_EQ(time.Beat(600), 600);
}

TEST(WakingClockTest, BeatsByItself) {
  WakingClock clock;
  const std::int64_t start = clock.NowMs();
  std::this_thread::sleep_for(std::chrono::milliseconds(WakingTime::kLongestBeatMs + 500));
  EXPECT_GE(clock.NowMs() - start, WakingTime::kLongestBeatMs + 400);
}

}  // namespace
}  // namespace assay::dispute
