#include "assay/audit/audit.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <tuple>

#include "assay/backend/ref/ref_backend.h"
#include "assay/run/fsck.h"
#include "assay/run/weights_root.h"
#include "assay/train/trainer.h"
#include "assay/train/weights.h"
#include "support/scratch.h"
#include "support/small_device.h"
#include "support/small_job.h"

namespace assay {
namespace {

const std::string kJob =
    testkit::SmallJobText({.steps = 12, .microbatches = 1, .adam = false, .commit_every = 3, .snapshot_every = 6, .keep = 0});

// Runs that are tampered with after, or while, an honest trainer made them. Cheating trainers are in tests/attacks.
class AuditTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = scratch_ / "run";
    auto job = ParseJob(kJob, "test.toml");
    ASSERT_TRUE(job) << job.error().message;
    prepared_ = std::move(*Prepare(*job));
  }

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

  testkit::Scratch scratch_;
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

// What speaks against a run without any of its steps is said also where they cannot be run.
TEST_F(AuditTest, ContradictionsNeedNoMemory) {
  ASSERT_TRUE(Train());
  testkit::SmallDevice small(pool_, 1000);
  const auto check = [&] { return Audit(*RunDirectory::Open(path_), prepared_, {}, small, pool_, {}); };
  const AuditReport honest = check();
  EXPECT_EQ(honest.verdict, Verdict::kUnchecked);
  EXPECT_TRUE(honest.reason.starts_with("GPU memory: this job takes ")) << honest.reason;
  SignAgain([](Receipt& receipt) { receipt.final_state_root.bytes[0] ^= 1; });
  EXPECT_EQ(check().verdict, Verdict::kRefuted);
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
  EXPECT_EQ(fsck.verdict, FsckVerdict::kRefuted);
  ASSERT_EQ(fsck.findings.size(), 1u);
  EXPECT_TRUE(fsck.findings[0].problem.starts_with("the receipt's weights root ")) << fsck.findings[0].problem;
  // Nor does it help to take away what it is a lie about: the steps lead there.
  std::filesystem::remove(SnapshotPath(12));
  std::filesystem::remove(path_ + "/model.safetensors");
  EXPECT_EQ(Check().verdict, Verdict::kRefuted);
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

// Moved to another disk, as a user may: not missing, and not a run of its own.
TEST_F(AuditTest, AFolderThatIsALinkIsCalledSo) {
  ASSERT_TRUE(Train());
  std::filesystem::rename(path_ + "/log", path_ + "/../log-elsewhere");
  std::filesystem::create_directory_symlink(path_ + "/../log-elsewhere", path_ + "/log");
  std::filesystem::create_directory_symlink(path_ + "/../log-elsewhere", path_ + "/other");
  const FsckReport fsck = *Fsck(path_, pool_, {});
  EXPECT_EQ(fsck.verdict, FsckVerdict::kDamaged);
  ASSERT_EQ(fsck.findings.size(), 2u) << fsck.findings[2].file << ": " << fsck.findings[2].problem;
  EXPECT_EQ(fsck.findings[0].file, "other");
  EXPECT_FALSE(fsck.findings[0].damage) << "a link that nobody needs";
  EXPECT_EQ(fsck.findings[1].file, "log/");
  EXPECT_EQ(fsck.findings[1].problem, "is a symbolic link; a run holds its own files");
  const AuditReport report = Check();
  EXPECT_EQ(Name(report.verdict), "damaged");
  ASSERT_TRUE(report.refutation);
  EXPECT_NE(report.refutation->reason.find("log/: is a symbolic link"), std::string::npos) << report.refutation->reason;
}

// Guilt is a contradiction with one's own signature. Files that are gone, torn or not the ones that were signed for speak against nobody.
TEST_F(AuditTest, ABadCopyIsDamagedNotRefuted) {
  ASSERT_TRUE(Train());
  for (const std::string file :
       {"model.safetensors", "snapshots/step-0000000006.safetensors", "snapshots/step-0000000012.safetensors", "job.bin",
        "job.toml", "program.bin", "log/tile/0/000.p/5", "log/tile/entries/000.p/5", "log/checkpoint", "receipt.json"}) {
    const std::string path = path_ + "/" + file;
    const Bytes good = *ReadFile(path, 1 << 20);
    const auto expect_damaged = [&](const std::string& what) {
      const AuditReport report = Check();
      EXPECT_EQ(Name(report.verdict), "damaged")
          << file << " " << what << ": " << report.refutation.value_or(Refutation{}).reason << report.reason;
    };
    ASSERT_TRUE(WriteFileAtomic(path, ByteSpan(good).first(good.size() / 2)));
    expect_damaged("cut");
    if (file != "log/checkpoint" && file != "receipt.json") {  // a signature that does not fit is another matter
      Bytes bad = good;
      bad[bad.size() - 3] ^= 1;
      ASSERT_TRUE(WriteFileAtomic(path, bad));
      expect_damaged("flipped");
    }
    if (file != "snapshots/step-0000000006.safetensors" &&
        file != "receipt.json") {  // one may be pruned; without the other, training goes on
      ASSERT_TRUE(RemoveFile(path));
      if (file != "snapshots/step-0000000012.safetensors") expect_damaged("missing");
    }
    ASSERT_TRUE(WriteFileAtomic(path, good));
  }
  EXPECT_EQ(Check().verdict, Verdict::kVerified);
}

// It proves nothing about the signer: anybody can write one.
TEST_F(AuditTest, ASignatureThatDoesNotFitIsDamage) {
  ASSERT_TRUE(Train());
  for (const std::string file : {"log/checkpoint", "receipt.json"}) {
    const std::string path = path_ + "/" + file;
    const Bytes good = *ReadFile(path, 1 << 20);
    Bytes bad = good;
    bad[bad.size() - 20] = bad[bad.size() - 20] == 'A' ? 'B' : 'A';
    ASSERT_TRUE(WriteFileAtomic(path, bad));
    const AuditReport report = Check();
    EXPECT_EQ(Name(report.verdict), "damaged") << file;
    const std::string reason = report.refutation.value_or(Refutation{}).reason;
    EXPECT_NE(reason.find("the copy is damaged or was not made by that key"), std::string::npos) << reason;
    ASSERT_TRUE(WriteFileAtomic(path, good));
  }
}

// Every part is honest and well signed, and they do not belong together: who mixed them is not known. What the receipt itself signs falsely is its signer's.
TEST_F(AuditTest, HonestPartsOfSeveralRunsAreABadCopy) {
  namespace fs = std::filesystem;
  const std::string run = path_, other = path_ + "-other", earlier = path_ + "-earlier", good = path_ + "-good";
  const auto copied = [&](const std::string& from, const std::string& file) {
    fs::remove_all(run + "/" + file);
    fs::copy(from + "/" + file, run + "/" + file, fs::copy_options::recursive);
  };
  ASSERT_TRUE(Train(7));
  fs::copy(run, earlier, fs::copy_options::recursive);
  ASSERT_TRUE(Train());
  fs::copy(run, good, fs::copy_options::recursive);
  PreparedJob asked = std::move(prepared_);
  Job job = asked.job;
  job.seed += 1;
  prepared_ = *Prepare(job);
  path_ = other;
  ASSERT_TRUE(Train());
  prepared_ = std::move(asked);
  path_ = run;

  const std::string kOtherLog = "the receipt signs another log than the one here",
                    kSnapshot = "snapshots/step-0000000006.safetensors";
  const std::tuple<std::string, std::string, std::string> mixes[] = {
      {other, "receipt.json", "the receipt is for another job"},
      {other, "log", kOtherLog},
      {earlier, "log", kOtherLog},
      {other, kSnapshot, "is a snapshot of another run or step"}};
  for (const auto& [from, file, reason] : mixes) {
    copied(from, file);
    const AuditReport report = Check();
    EXPECT_EQ(Name(report.verdict), "damaged") << from << " " << file;
    const std::string said = report.refutation.value_or(Refutation{}).reason;
    EXPECT_NE(said.find(reason), std::string::npos) << from << " " << file << ": " << said;
    EXPECT_EQ(Name(Fsck(run, pool_, {})->verdict), "damaged") << from << " " << file;
    copied(good, file);
  }
  EXPECT_EQ(Check().verdict, Verdict::kVerified);

  const std::pair<std::string, std::function<void(Receipt&)>> lies[] = {
      {"steps", [](Receipt& receipt) { receipt.steps += 1; }},
      {"signs a log that ends after 3 of 5", [](Receipt& receipt) { receipt.log.size = 3; }},
      {"signs a log of 6 entries", [](Receipt& receipt) { receipt.log.size = 6; }},
      {"log.origin", [](Receipt& receipt) { receipt.log.origin = "test/other"; }},
      {"final_state_root", [](Receipt& receipt) { receipt.final_state_root.bytes[0] ^= 1; }}};
  for (const auto& [reason, lie] : lies) {
    SignAgain(lie);
    const AuditReport report = Check();
    EXPECT_EQ(Name(report.verdict), "refuted") << reason;
    const std::string said = report.refutation.value_or(Refutation{}).reason;
    EXPECT_NE(said.find(reason), std::string::npos) << said;
    copied(good, "receipt.json");
  }
}

// The same altered snapshot: somebody's, and its signer's.
TEST_F(AuditTest, ASnapshotThatTheLogContradictsIsGuiltOnlyWhereItIsSigned) {
  ASSERT_TRUE(Train(7));
  ASSERT_TRUE(Train());
  for (const std::int64_t step : {6, 7}) {
    const Bytes good = *ReadFile(SnapshotPath(step), 1 << 20);
    auto snapshot = *ReadSnapshot(SnapshotPath(step), prepared_.program.state, pool_);
    snapshot.state.front().Span<float>()[0] += 1;
    snapshot.info.state_root = StateRootOf(prepared_.program.state, snapshot.state, pool_);
    ASSERT_TRUE(WriteSnapshot(SnapshotPath(step), prepared_.program.state, snapshot.state, snapshot.info));
    EXPECT_EQ(Name(Check().verdict), "damaged") << step;
    snapshot.info.signature = key_.Sign(SignedMessage(snapshot.info));
    ASSERT_TRUE(WriteSnapshot(SnapshotPath(step), prepared_.program.state, snapshot.state, snapshot.info));
    const AuditReport report = Check();
    EXPECT_EQ(Name(report.verdict), "refuted") << step;
    EXPECT_EQ(report.refutation.value_or(Refutation{}).step, step);
    ASSERT_TRUE(WriteFileAtomic(SnapshotPath(step), good));
  }
  EXPECT_EQ(Check().verdict, Verdict::kVerified);
}

TEST_F(AuditTest, WeightsThatWereNotSignedForAreABadCopy) {
  ASSERT_TRUE(Train());
  const std::string path = path_ + "/model.safetensors";
  const SnapshotInfo info = *SnapshotInfoOf(*Safetensors::Open(path));
  auto last = *ReadSnapshot(SnapshotPath(12), prepared_.program.state, pool_);
  SnapshotInfo other = info;
  other.validation_loss = 0.125f;
  ASSERT_TRUE(WriteSafetensors(path, WeightsOf(prepared_, last.state), ToMetadata(other)));
  EXPECT_EQ(Name(Check().verdict), "damaged") << "metadata";
  last.state.back().Span<float>()[0] += 1;
  ASSERT_TRUE(WriteSafetensors(path, WeightsOf(prepared_, last.state), ToMetadata(info)));
  EXPECT_EQ(Name(Check().verdict), "damaged") << "a weight";
  SignAgain([&](Receipt& receipt) { receipt.weights = WeightsRoot(*Safetensors::Open(path), pool_).value(); });
  EXPECT_EQ(Name(Check().verdict), "refuted") << "signed for by its tensors";
}

// A dispute asks before it starts what an audit would find on its way.
TEST_F(AuditTest, ACopyIsDamagedWhereAnAuditCallsItSo) {
  ASSERT_TRUE(Train());
  const auto damage = [&] { return FindFaults(*RunDirectory::Open(path_), pool_).value().damage; };
  EXPECT_FALSE(damage());
  std::size_t damaged = 0;
  for (const std::string file : {"job.bin", "program.bin", "receipt.json", "model.safetensors", "log/checkpoint",
                                 "snapshots/step-0000000006.safetensors", "snapshots/step-0000000012.safetensors"}) {
    const std::string path = path_ + "/" + file;
    const Bytes good = *ReadFile(path, 1 << 20);
    for (const std::size_t eighth : {1u, 3u, 5u, 7u}) {
      Bytes bad = good;
      bad[bad.size() * eighth / 8] ^= 0x10;
      ASSERT_TRUE(WriteFileAtomic(path, bad));
      EXPECT_EQ(damage().has_value(), Check().verdict == Verdict::kDamaged) << file << " at " << eighth << "/8";
      damaged += damage() ? 1 : 0;
    }
    ASSERT_TRUE(WriteFileAtomic(path, good));
  }
  EXPECT_EQ(damaged, 28u);
  // What was signed and is false is its signer's; a receipt for another log is anybody's.
  SignAgain([](Receipt& receipt) { receipt.final_state_root.bytes[0] ^= 1; });
  EXPECT_FALSE(damage());
  SignAgain([](Receipt& receipt) { receipt.log.root.bytes[0] ^= 1; });
  EXPECT_TRUE(damage());
  SignAgain([](Receipt& receipt) { receipt.job.bytes[0] ^= 1; });
  EXPECT_TRUE(damage());
}

// From where two runs part to the end: what lies before is not looked at again, beyond what a snapshot spares.
TEST_F(AuditTest, SomeStepsAreAuditedByThemselves) {
  ASSERT_TRUE(Train());
  const RunDirectory run = *RunDirectory::Open(path_);
  std::vector<std::int64_t> seen;
  const AuditHooks hooks{.on_step = [&](std::int64_t, std::int64_t step, float) { seen.push_back(step); }};
  const auto refuted = AuditSteps(run, prepared_, 8, 12, *backend_, pool_, hooks);
  ASSERT_TRUE(refuted) << refuted.error().message;
  EXPECT_FALSE(*refuted);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{7, 8, 9, 10, 11, 12}));
  seen.clear();
  EXPECT_FALSE(*AuditSteps(run, prepared_, 0, 0, *backend_, pool_, hooks));
  EXPECT_TRUE(seen.empty());
  EXPECT_FALSE(AuditSteps(run, prepared_, 1, 13, *backend_, pool_, {}));
  EXPECT_FALSE(AuditSteps(run, prepared_, 2, 1, *backend_, pool_, {}));
}

TEST_F(AuditTest, OtherDataHereLeavesTheRunUnchecked) {
  ASSERT_TRUE(Train());
  Job job = prepared_.job;
  job.data.samples = 32;
  const PreparedJob other = *Prepare(job);
  const AuditReport report = Audit(*RunDirectory::Open(path_), other, {}, *backend_, pool_, {});
  EXPECT_EQ(Name(report.verdict), "unchecked");
  EXPECT_NE(report.reason.find("another data set than the one here"), std::string::npos) << report.reason;
}

// The vendor's FP32 gives other bits on another machine, and honest runs were refuted by them.
TEST_F(AuditTest, AVendorsPlainFp32IsUnchecked) {
  auto job = *ParseJob(std::string("precision = \"fp32-vendor\"\n") + kJob, "test.toml");
  prepared_ = *Prepare(job);
  ASSERT_TRUE(Train());
  const AuditReport report = Check();
  EXPECT_EQ(Name(report.verdict), "unchecked");
  EXPECT_NE(report.reason.find("fp32-vendor"), std::string::npos) << report.reason;
  EXPECT_EQ(report.steps_checked, 0);
}

TEST_F(AuditTest, AnInterruptedAuditNamesOnlyTheSegmentsThatItReplayed) {
  ASSERT_TRUE(Train());
  std::int64_t done = 0;
  const AuditHooks hooks{.on_step = [&](std::int64_t checked, std::int64_t, float) { done = checked; },
                         .should_stop = [&] { return done >= 7; }};
  const AuditReport report = Audit(*RunDirectory::Open(path_), prepared_, {}, *backend_, pool_, hooks);
  EXPECT_EQ(report.verdict, Verdict::kUnchecked);
  EXPECT_EQ(report.steps_checked, 7);
  EXPECT_EQ(report.segments, 2);
  EXPECT_EQ(report.drawn, std::vector<std::int64_t>{0});
}

TEST_F(AuditTest, WhatIsTakenOnTrustIsSaid) {
  ASSERT_TRUE(Train());
  const RunDirectory run = *RunDirectory::Open(path_);
  const auto assumed = [&](const AuditOptions& options) {
    const std::vector<std::string> lines = AssumedBy(options, run, Audit(run, prepared_, options, *backend_, pool_, {}));
    std::string all;
    for (const std::string& line : lines) all += line + "\n";
    return all;
  };
  const std::string nothing_asked = assumed({});
  EXPECT_NE(nothing_asked.find("the job is the run's own, " + run.identity().job.hex()), std::string::npos) << nothing_asked;
  EXPECT_NE(nothing_asked.find("the signer is whoever the run names, " + run.signer().ToString()), std::string::npos)
      << nothing_asked;
  const AuditOptions asked{.expected = {.job = run.identity().job, .signer = run.signer()}};
  EXPECT_EQ(assumed(asked).find("whoever"), std::string::npos) << assumed(asked);
  EXPECT_EQ(assumed(asked).find("the run's own"), std::string::npos) << assumed(asked);
  AuditOptions sampled = asked;
  sampled.sample_percent = 50;
  EXPECT_NE(assumed(sampled).find("1 of 2 segments were not drawn"), std::string::npos) << assumed(sampled);
}

}  // namespace
}  // namespace assay
