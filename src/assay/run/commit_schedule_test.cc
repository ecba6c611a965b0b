#include "assay/run/commit_schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

// Written down step by step, for every short run.
TEST(CommitSchedule, EntriesStepsAndReachBelongTogether) {
  for (std::int64_t every = 1; every <= 7; ++every) {
    for (std::int64_t steps = 1; steps <= 20; ++steps) {
      const CommitSchedule schedule{.commit_every = every, .steps = steps};
      std::vector<std::int64_t> committed;
      for (std::int64_t step = 0; step <= steps; ++step) {
        const bool expected = step % every == 0 || step == steps;
        EXPECT_EQ(schedule.IsCommitted(step), expected);
        if (expected) committed.push_back(step);
        EXPECT_EQ(schedule.EntriesAfter(step), static_cast<std::int64_t>(committed.size()));
      }
      EXPECT_FALSE(schedule.IsCommitted(-every));
      EXPECT_FALSE(schedule.IsCommitted(steps + every));
      EXPECT_EQ(schedule.entries(), static_cast<std::int64_t>(committed.size()));
      EXPECT_EQ(schedule.Reach(0), -1);
      for (std::size_t i = 0; i < committed.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        EXPECT_EQ(schedule.StepOfEntry(index), committed[i]);
        EXPECT_EQ(schedule.Reach(index + 1), i + 1 < committed.size() ? committed[i + 1] - 1 : steps);
      }
    }
  }
}

TEST(CommitSchedule, ARunOfUnknownLengthGoesOn) {
  const CommitSchedule schedule = CommitSchedule::Endless(5);
  EXPECT_TRUE(schedule.IsCommitted(10));
  EXPECT_FALSE(schedule.IsCommitted(12));
  EXPECT_EQ(schedule.EntriesAfter(12), 3);
  EXPECT_EQ(schedule.Reach(3), 14);
}

}  // namespace
}  // namespace assay
