#include "assay/train/audit.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>

#include "assay/backend/ref/ref.h"
#include "assay/run/fsck.h"
#include "assay/run/weights_root.h"
#include "assay/train/trainer.h"
#include "assay/train/weights.h"

namespace assay {
namespace {

constexpr char kJob[] = R"(
steps = 12
seed = 3
[model]
kind = "mlp"
hidden = [4]
[data]
kind = "features"
features = 3
classes = 2
samples = 64
[batch]
microbatch = 4
[commit]
every = 3
[snapshot]
every = 6
)";

// Runs that are tampered with after, or while, an honest trainer made them. Cheating trainers are in tests/attacks.
class AuditTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "/assay_audit_XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern + std::string("/run");
    auto job = ParseJob(kJob, "test.toml");
    ASSERT_TRUE(job) << job.error().message;
    prepared_ = std::move(*Prepare(*job));
  }
  void TearDown() override { std::filesystem::remove_all(std::filesystem::path(path_).parent_path()); }

  Result<TrainOutcome> Train(std::int64_t until = 12) {
    ASSAY_ASSIGN(RunDirectory run, RunDirectory::OpenForTraining(path_, ContentOf(prepared_), key_.verify_key()));
    std::int64_t done = 0;
    const TrainHooks hooks{.on_start = [&](std::int64_t first) { done = first; },
                           .on_step = [&](const StepReport& report) { done = report.step; },
                           .on_note = [&](const std::string& note) { notes_.push_back(note); },
                           .should_stop = [&] { return done >= until; }};
    return assay::Train(prepared_, run, key_, *backend_, pool_, hooks);
  }
  AuditReport Check() { return Audit(*RunDirectory::Open(path_), prepared_, {}, *backend_, pool_, {}); }
  std::string SnapshotPath(std::int64_t step) { return RunDirectory::Open(path_)->SnapshotPath(step); }
  // Signs another receipt, as the provider could.
  void SignAgain(const std::function<void(Receipt&)>& edit) {
    const std::string path = path_ + "/receipt.json";
    const Bytes file = *ReadFile(path, 1 << 20);
    Receipt receipt = *OpenReceipt({reinterpret_cast<const char*>(file.data()), file.size()}, key_.verify_key(), path);
    edit(receipt);
    ASSERT_TRUE(WriteFileAtomic(path, AsBytes(SignReceipt(receipt, key_))));
  }
  // For the weights that are there now.
  void SignForWeights() {
    const Safetensors file = *Safetensors::Open(path_ + "/model.safetensors");
    SignAgain([&](Receipt& receipt) {
      receipt.model = HashBytes(file.bytes());
      receipt.weights = WeightsRoot(file, pool_).value();
    });
  }

  std::string path_;
  PreparedJob prepared_;
  SigningKey key_ = SigningKey::Generate("test");
  ThreadPool pool_{1};
  std::unique_ptr<Backend> backend_ = ref::MakeRefBackend(pool_);
  std::vector<std::string> notes_;
};

TEST_F(AuditTest, HonestRunsAreVerifiedAlsoWhenInterruptedBetweenEntries) {
  ASSERT_TRUE(Train(7));
  EXPECT_EQ(Check().verdict, Verdict::kUnchecked);
  ASSERT_TRUE(Train());
  EXPECT_TRUE(Exists(SnapshotPath(7)));
  const AuditReport report = Check();
  EXPECT_EQ(report.verdict, Verdict::kVerified) << report.refutation.value_or(Refutation{}).reason << report.reason;
  EXPECT_EQ(report.steps_checked, 12);
}

// Nobody without the key can put a state of his own where an interrupted run goes on from.
TEST_F(AuditTest, AForgedSnapshotBetweenEntriesIsNotGoneOnFrom) {
  ASSERT_TRUE(Train(7));
  auto snapshot = *ReadSnapshot(SnapshotPath(7), prepared_.program.state, pool_);
  snapshot.state.front().Span<float>()[0] += 1;
  snapshot.info.state_root = StateRootOf(prepared_.program.state, snapshot.state, pool_);
  ASSERT_TRUE(WriteSnapshot(SnapshotPath(7), prepared_.program.state, snapshot.state, snapshot.info));
  ASSERT_TRUE(Train());
  ASSERT_FALSE(notes_.empty());
  EXPECT_NE(notes_[0].find("not signed by"), std::string::npos) << notes_[0];
  EXPECT_FALSE(Exists(SnapshotPath(7))) << "it would refute the run that was signed";
  EXPECT_EQ(Check().verdict, Verdict::kVerified);
}

TEST_F(AuditTest, AnAlteredLossInASnapshotIsNotSignedFor) {
  ASSERT_TRUE(Train());
  const Bytes receipt = *ReadFile(path_ + "/receipt.json", 1 << 20);
  auto snapshot = *ReadSnapshot(SnapshotPath(12), prepared_.program.state, pool_);
  snapshot.info.loss = 0.001f;
  snapshot.info.validation_loss = 0.001f;
  ASSERT_TRUE(WriteSnapshot(SnapshotPath(12), prepared_.program.state, snapshot.state, snapshot.info));
  ASSERT_TRUE(RemoveFile(path_ + "/receipt.json"));
  ASSERT_TRUE(Train());
  EXPECT_EQ(*ReadFile(path_ + "/receipt.json", 1 << 20), receipt);
}

TEST_F(AuditTest, DeliveredWeightsAreCheckedToTheLastByte) {
  ASSERT_TRUE(Train());
  const auto file = *Safetensors::Open(path_ + "/model.safetensors");
  SnapshotInfo info = *SnapshotInfoOf(file);
  auto last = *ReadSnapshot(SnapshotPath(12), prepared_.program.state, pool_);
  const auto deliver = [&](const SnapshotInfo& said) {
    ASSERT_TRUE(WriteSafetensors(path_ + "/model.safetensors", WeightsOf(prepared_, last.state), ToMetadata(said)));
    SignForWeights();
  };
  deliver(info);
  EXPECT_EQ(Check().verdict, Verdict::kVerified);
  SnapshotInfo other = info;
  other.loss = 0;
  deliver(other);
  EXPECT_EQ(Check().verdict, Verdict::kRefuted);
  last.state.back().Span<float>()[0] += 1;
  deliver(info);
  const AuditReport report = Check();
  ASSERT_EQ(report.verdict, Verdict::kRefuted);
  EXPECT_EQ(report.refutation->step, 12);
  EXPECT_EQ(report.refutation->leaf, 0);
}

TEST_F(AuditTest, TheReceiptsWeightsRootIsThatOfTheDeliveredFileAndOfTheLastState) {
  ASSERT_TRUE(Train());
  SignForWeights();
  EXPECT_EQ(Check().verdict, Verdict::kVerified);
  SignAgain([](Receipt& receipt) { receipt.weights.bytes[0] ^= 1; });
  const AuditReport report = Check();
  ASSERT_EQ(report.verdict, Verdict::kRefuted);
  EXPECT_NE(report.refutation->reason.find("the receipt's weights root"), std::string::npos) << report.refutation->reason;
  const FsckReport fsck = *Fsck(path_, pool_, {});
  EXPECT_EQ(fsck.verdict, FsckVerdict::kDamaged);
  ASSERT_EQ(fsck.findings.size(), 1u);
  EXPECT_TRUE(fsck.findings[0].problem.starts_with("says weights ")) << fsck.findings[0].problem;
}

TEST_F(AuditTest, LinksInARunAreRefused) {
  ASSERT_TRUE(Train(7));
  std::filesystem::create_directory(path_ + "/../elsewhere");
  ASSERT_TRUE(WriteFileAtomic(path_ + "/../elsewhere/file", AsBytes("x")));
  std::filesystem::remove_all(path_ + "/log/tile");
  std::filesystem::create_directory_symlink(path_ + "/../elsewhere", path_ + "/log/tile");
  const auto outcome = Train();
  ASSERT_FALSE(outcome);
  EXPECT_NE(outcome.error().message.find("is a link"), std::string::npos) << outcome.error().message;
  EXPECT_TRUE(Exists(path_ + "/../elsewhere/file"));
}

// A file that this machine cannot read says nothing about the provider; one that is not there does.
TEST_F(AuditTest, WhatIsMissingRefutes) {
  ASSERT_TRUE(Train());
  ASSERT_TRUE(RemoveFile(path_ + "/model.safetensors"));
  EXPECT_EQ(Check().verdict, Verdict::kRefuted);
  ASSERT_TRUE(Train());
  EXPECT_EQ(Check().verdict, Verdict::kVerified);
  ASSERT_TRUE(RemoveFile(path_ + "/job.bin"));
  EXPECT_EQ(Check().verdict, Verdict::kRefuted);
}

}  // namespace
}  // namespace assay
