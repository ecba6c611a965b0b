// `train --follow`: what is followed is what the other run signed for.
#include <gtest/gtest.h>

#include "assay/base/file.h"
#include "assay/run/fsck.h"
#include "assay/run/receipt.h"
#include "assay/run/rounding_logs.h"
#include "bench.h"

namespace assay::roundtest {
namespace {

class Following : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasBlas()) GTEST_SKIP() << "OpenBLAS is not installed";
    prepared_ = JobOf(kGpt2, 32, 2);
    ASSERT_TRUE(TrainIn(scratch_ / "first", prepared_, trainer_));
  }
  Result<TrainOutcome> Follow(const std::string& name, std::int64_t until = INT64_MAX) {
    const RunDirectory first = RunDirectory::Open(scratch_ / "first").value();
    return TrainIn(scratch_ / name, prepared_, follower_, until, KeyOf(8), &first);
  }
  void ExpectRefused(const std::string& name, const std::string& words) {
    const auto followed = Follow(name);
    ASSERT_FALSE(followed) << name;
    EXPECT_NE(followed.error().message.find(words), std::string::npos) << followed.error().message;
    EXPECT_EQ(followed.error().message.find('\n'), std::string::npos);
    EXPECT_FALSE(Exists(scratch_ / name + "/receipt.json"));
  }
  Receipt ReceiptOf(const std::string& name) {
    const RunDirectory run = RunDirectory::Open(scratch_ / name).value();
    const Bytes file = ReadFile(run.receipt_path(), 1 << 16).value();
    return OpenReceipt({reinterpret_cast<const char*>(file.data()), file.size()}, run.signer(), "receipt").value();
  }

  Scratch scratch_;
  PreparedJob prepared_;
  Machine trainer_{32, 1, 0.99, 1}, follower_{32, 1, 0.99, 2};
};

TEST_F(Following, TheReceiptNamesWhoIsFollowed) {
  ASSERT_TRUE(Follow("second"));
  const Receipt first = ReceiptOf("first"), second = ReceiptOf("second");
  EXPECT_FALSE(first.follows);
  ASSERT_TRUE(second.follows);
  EXPECT_EQ(second.follows->signer, first.signer);
  EXPECT_EQ(second.follows->log_root, first.log.root);
  EXPECT_EQ(second.final_state_root, first.final_state_root);
  EXPECT_EQ(AuditOf(scratch_ / "second", prepared_, trainer_).verdict, Verdict::kVerified);
  EXPECT_EQ(Fsck(scratch_ / "second", follower_.pool, {})->verdict, FsckVerdict::kWhole);
  ASSERT_TRUE(RemoveFile(scratch_ / "second/follows"));
  EXPECT_EQ(AuditOf(scratch_ / "second", prepared_, trainer_).verdict, Verdict::kDamaged);
  EXPECT_EQ(Fsck(scratch_ / "second", follower_.pool, {})->verdict, FsckVerdict::kDamaged);
}

// Who is taken up again follows as before, and cannot do otherwise.
TEST_F(Following, AnInterruptedRunGoesOnFollowing) {
  ASSERT_TRUE(Follow("second", 1));
  const auto alone = TrainIn(scratch_ / "second", prepared_, follower_, INT64_MAX, KeyOf(8));
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message.find("--follow"), std::string::npos) << alone.error().message;
  ASSERT_TRUE(Follow("second"));
  EXPECT_EQ(ReceiptOf("second").log.root, ReceiptOf("first").log.root);
  ASSERT_TRUE(TrainIn(scratch_ / "third", prepared_, follower_, 1, KeyOf(8)));
  ExpectRefused("third", "was begun without --follow");
}

// A run hands out other logs than it committed to: the one that it committed to decides otherwise, or the lie is elsewhere.
TEST_F(Following, LogsThatAreNotTheCommittedOnesAreRefused) {
  const std::string folder = scratch_ / "first/rounding";
  std::vector<std::string> bundles;
  for (const auto& file : std::filesystem::directory_iterator(folder)) bundles.push_back(file.path().string());
  const Bytes content = ReadFile(bundles.front(), 1 << 24).value();
  Bytes flipped = content;
  flipped.back() ^= 1;
  ASSERT_TRUE(WriteFileAtomic(bundles.front(), flipped));
  ExpectRefused("flipped", "are not the ones that its signed log commits to");
  // Well-formed logs that say nothing.
  RoundingLogs logs = RoundingLogs::Open(folder).value();
  ASSERT_TRUE(WriteFileAtomic(bundles.front(), content));
  std::vector<Bytes> silent;
  for (std::int64_t step = 1; step <= prepared_.job.steps; ++step) {
    const auto log = rounding::DecodeDecisions(RoundingLogs::Open(folder)->Read(step).value(), "log").value();
    silent.push_back(rounding::EncodeDecisions({}, log.elements));
  }
  std::filesystem::remove_all(folder);
  RoundingLogs others = RoundingLogs::Open(folder).value();
  for (std::size_t i = 0; i < silent.size(); ++i) others.Add(static_cast<std::int64_t>(i) + 1, silent[i]);
  ASSERT_TRUE(others.Write());
  ExpectRefused("silent", "the rounding logs of steps 1 to 2 are not the ones that its signed log commits to");
}

TEST_F(Following, UnfinishedAndDamagedRunsAreRefused) {
  const std::string receipt = scratch_ / "first/receipt.json", entries = scratch_ / "first/log/checkpoint";
  const Bytes whole = ReadFile(receipt, 1 << 16).value(), note = ReadFile(entries, 1 << 16).value();
  ASSERT_TRUE(RemoveFile(receipt));
  ExpectRefused("unfinished", "its training is not finished");
  Bytes altered = whole;
  altered[altered.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(receipt, altered));
  ExpectRefused("receipt", "receipt.json");
  ASSERT_TRUE(WriteFileAtomic(receipt, whole));
  altered = note;
  altered[altered.size() - 5] ^= 1;
  ASSERT_TRUE(WriteFileAtomic(entries, altered));
  ExpectRefused("log", "checkpoint");
  ASSERT_TRUE(WriteFileAtomic(entries, note));
  std::filesystem::remove_all(scratch_ / "first/rounding");
  ExpectRefused("rounding", "has no rounding log of step 1");
}

}  // namespace
}  // namespace assay::roundtest
