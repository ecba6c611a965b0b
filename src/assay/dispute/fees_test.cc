#include "assay/dispute/fees.h"

#include <gtest/gtest.h>

namespace assay::dispute {
namespace {

constexpr std::int64_t kSteps = 10, kEvery = 4;

Question Trace(std::int64_t step) { return CommitQuestion{{.kind = TreeKind::kTrace, .at = step}}; }

class FeesTest : public testing::Test {
 protected:
  Budget For(const Question& question, std::size_t bytes, const Digest& dispute = {}) {
    return fees.For(dispute, question, bytes, {.steps_run = 77, .steps_traced = 77, .batches_loaded = 77});
  }
  Fees fees{[] { return std::optional<Meter>(std::in_place, kSteps, kEvery); }};
};

TEST_F(FeesTest, ADisputePaysForWhatItAsksForOnce) {
  const Digest other = HashBytes(AsBytes("other"));
  EXPECT_EQ(For(Trace(7), 100).work, (Work{.steps_run = 2, .steps_traced = 1}));
  EXPECT_EQ(For(Trace(2), 100, other).work, (Work{.steps_run = 1, .steps_traced = 1}));
  EXPECT_EQ(For(Trace(7), 100).work, Work{}) << "whatever was measured, and whoever asked in between";
}

TEST_F(FeesTest, AnswersCountForALeastNumberOfBytes) {
  EXPECT_EQ(For(Trace(7), 5000).bytes, 5000u);
  EXPECT_EQ(For(Trace(7), 1).bytes, Fees::kLeastBytes);
  EXPECT_EQ(For(Trace(7), 0).bytes, Fees::kLeastBytes) << "one that failed";
  EXPECT_EQ(For(LeavesQuestion{{.kind = TreeKind::kLog}, {{0, 1}}}, 5000).bytes, 0u) << "about the receipt";
}

// Numbers come from strangers: they are not added up.
TEST_F(FeesTest, WhatTheJobDoesNotHaveTakesNoWork) {
  for (const std::int64_t at : {INT64_MIN, std::int64_t{-1}, kSteps + 1, INT64_MAX - 1, INT64_MAX}) {
    for (int kind = 1; kind <= 13; ++kind) {
      EXPECT_EQ(For(ExpandQuestion{{.kind = static_cast<TreeKind>(kind), .at = at}, {0, 1}}, 0).work, Work{})
          << kind << " " << at;
    }
    EXPECT_EQ(For(PartsQuestion{.step = at}, 0).work, Work{}) << at;
  }
  EXPECT_EQ(For(ExpandQuestion{{.kind = TreeKind::kStates, .at = 4}, {0, 1}}, 0).work, Work{})
      << "ten steps have three entries";
  EXPECT_EQ(For(ExpandQuestion{{.kind = TreeKind::kStates, .at = 3}, {0, 1}}, 0).work, (Work{.steps_run = 2}));
}

}  // namespace
}  // namespace assay::dispute
