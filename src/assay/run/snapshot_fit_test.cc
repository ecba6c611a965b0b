#include "assay/run/snapshot_fit.h"

#include <gtest/gtest.h>

#include <bit>

namespace assay {
namespace {

Digest D(std::string_view text) { return HashBytes(AsBytes(text)); }

class SnapshotFitTest : public testing::Test {
 protected:
  SnapshotFitTest() {
    for (const std::int64_t step : {0, 5, 10}) {
      log_.Append(
          log_.Next(step, D("state" + std::to_string(step)), D("batch"), step == 0 ? 0 : std::bit_cast<std::uint32_t>(0.5f)));
    }
  }
  SnapshotInfo At(std::int64_t step) const {
    return {.step = step,
            .job = D("j"),
            .trajectory = D("t"),
            .state_root = D("state" + std::to_string(step)),
            .loss = step == 0 ? 0 : 0.5f,
            .validation_loss = {}};
  }
  SnapshotInfo Signed(SnapshotInfo info, const SigningKey& key) const {
    info.signature = key.Sign(SignedMessage(info));
    return info;
  }
  std::string Problem(const SnapshotInfo& info, const CommitSchedule& schedule = {.commit_every = 5, .steps = 17}) const {
    const Status fits = CheckFitsLog(info, log_, schedule, key_.verify_key());
    return fits ? "" : fits.error().message;
  }

  RunLog log_{D("t")};
  SigningKey key_ = SigningKey::Generate("test");
};

TEST_F(SnapshotFitTest, ACommittedStepIsThatOfTheLogSignedOrNot) {
  for (const std::int64_t step : {0, 5, 10}) EXPECT_EQ(Problem(At(step)), "") << step;
  SnapshotInfo other = At(5);
  other.state_root = D("x");
  EXPECT_EQ(Problem(Signed(other, key_)), "state root is " + D("x").hex() + ", the log says " + D("state5").hex());
  other = At(5);
  other.loss = 0.25f;
  EXPECT_EQ(Problem(Signed(other, key_)), "its loss is not that of the log");
  other = At(5);
  other.trajectory = D("u");
  EXPECT_EQ(Problem(Signed(other, key_)), "is a snapshot of another run");
}

TEST_F(SnapshotFitTest, AStepBetweenEntriesIsSignedAndWithinReach) {
  const std::string unsigned_problem = "is of a step that the log does not have and not signed by " + key_.verify_key().id();
  EXPECT_EQ(Problem(At(7)), unsigned_problem);
  EXPECT_EQ(Problem(Signed(At(7), SigningKey::Generate("test"))),
            "is of a step that the log does not have and not signed by " + key_.verify_key().id());
  EXPECT_EQ(Problem(Signed(At(7), key_)), "");
  EXPECT_EQ(Problem(Signed(At(14), key_)), "");
  EXPECT_EQ(Problem(Signed(At(15), key_)), "is of step 15, which the log does not lead up to");
}

// A log that a run of 12 steps left ends with an entry that no schedule of another number of steps has.
TEST_F(SnapshotFitTest, TheLastEntryOfAShorterRunCounts) {
  log_.Append(log_.Next(12, D("state12"), D("batch"), std::bit_cast<std::uint32_t>(0.5f)));
  EXPECT_EQ(Problem(At(12), CommitSchedule::Endless(5)), "");
  SnapshotInfo other = At(12);
  other.state_root = D("x");
  EXPECT_NE(Problem(Signed(other, key_), CommitSchedule::Endless(5)), "");
}

}  // namespace
}  // namespace assay
