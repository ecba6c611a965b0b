#include "assay/run/directory.h"
#include "support/scratch.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace assay {
namespace {

const std::vector<StateSpec>& Specs() {
  static const std::vector<StateSpec> specs = {
      {"a", {DType::kF32, {2, 3}}, {}}, {"b", {DType::kI64, {}}, {}}, {"c", {DType::kF32, {0}}, {}}};
  return specs;
}

std::vector<Tensor> StateAt(std::int64_t step) {
  std::vector<Tensor> state;
  for (const StateSpec& spec : Specs()) state.emplace_back(spec.type);
  for (float& v : state[0].Span<float>()) v = static_cast<float>(step) + 0.5f;
  state[1].Span<std::int64_t>()[0] = step;
  return state;
}

RunContent ContentFor(std::string_view job, std::string_view trajectory) {
  return {.identity = {.job = HashBytes(AsBytes(job)), .trajectory = HashBytes(AsBytes(trajectory)), .data = {}},
          .steps = 1000,
          .job_toml = "name = \"" + std::string(job) + "\"\n",
          .job = Bytes{1, 2, 3},
          .program = Bytes{4, 5}};
}

class RunDirectoryTest : public testing::Test {
 protected:
  void SetUp() override {
    root_ = scratch_.path();
    path_ = root_ + "/new/run";
  }

  Result<RunDirectory> Open(std::string_view job = "j", std::string_view trajectory = "t") {
    return RunDirectory::OpenForTraining(path_, ContentFor(job, trajectory), key_.verify_key());
  }
  Status Save(const RunDirectory& run, std::int64_t step) {
    const std::vector<Tensor> state = StateAt(step);
    return WriteSnapshot(run.SnapshotPath(step), Specs(), state,
                         {.step = step,
                          .job = run.identity().job,
                          .trajectory = run.identity().trajectory,
                          .state_root = StateRootOf(Specs(), state, pool_),
                          .loss = 1.25f,
                          .validation_loss = {}});
  }
  Result<std::optional<Snapshot>> Newest(const RunDirectory& run, std::int64_t max_step = 1000) {
    return run.NewestSnapshot(
        Specs(), max_step, pool_, [](const SnapshotInfo&) { return Status(); },
        [this](const std::string& note) { notes_.push_back(note); });
  }
  void FlipByte(const std::string& path, std::size_t from_end) {
    auto bytes = ReadFile(path, 1 << 20);
    ASSERT_TRUE(bytes);
    (*bytes)[bytes->size() - from_end] ^= 1;
    ASSERT_TRUE(WriteFileAtomic(path, *bytes));
  }

  void WriteId(const Bytes& bytes) {
    std::ofstream file(path_ + "/id", std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }

  SigningKey key_ = SigningKey::Generate("test");
  ThreadPool pool_{2};
  testkit::Scratch scratch_;
  std::string root_, path_;
  std::vector<std::string> notes_;
};

TEST_F(RunDirectoryTest, SnapshotsRoundTripAndTheNewestIsFound) {
  auto run = Open();
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_FALSE(Newest(*run)->has_value());
  for (std::int64_t step : {3, 20, 100}) ASSERT_TRUE(Save(*run, step));
  EXPECT_EQ(*run->SnapshotSteps(), (std::vector<std::int64_t>{3, 20, 100}));
  auto newest = Newest(*run);
  ASSERT_TRUE(newest && newest->has_value());
  EXPECT_EQ((*newest)->info.step, 100);
  EXPECT_EQ((*newest)->info.loss, 1.25f);
  EXPECT_EQ((*newest)->state[1].Span<std::int64_t>()[0], 100);
  EXPECT_EQ((*Newest(*run, 99))->info.step, 20);
  EXPECT_FALSE(Newest(*run, 2)->has_value());
}

TEST_F(RunDirectoryTest, DamagedSnapshotsArePassedOverWithANote) {
  auto run = Open();
  for (std::int64_t step : {1, 2, 3, 4}) ASSERT_TRUE(Save(*run, step));
  FlipByte(run->SnapshotPath(4), 1);
  ASSERT_TRUE(WriteFileAtomic(run->SnapshotPath(3), AsBytes("short")));
  std::filesystem::copy_file(run->SnapshotPath(1), run->SnapshotPath(2), std::filesystem::copy_options::overwrite_existing);
  auto newest = Newest(*run);
  ASSERT_TRUE(newest && newest->has_value());
  EXPECT_EQ((*newest)->info.step, 1);
  ASSERT_EQ(notes_.size(), 3u);
  EXPECT_NE(notes_[0].find("state root is"), std::string::npos) << notes_[0];
  EXPECT_NE(notes_[2].find("another run or step"), std::string::npos) << notes_[2];
}

TEST_F(RunDirectoryTest, PruneKeepsTheNewestUpToTheStep) {
  auto run = Open();
  for (std::int64_t step : {1, 2, 3, 50}) ASSERT_TRUE(Save(*run, step));
  ASSERT_TRUE(run->Prune(3, 0));
  EXPECT_EQ(run->SnapshotSteps()->size(), 4u);
  ASSERT_TRUE(run->Prune(3, 2));
  EXPECT_EQ(*run->SnapshotSteps(), (std::vector<std::int64_t>{2, 3, 50}));
  ASSERT_TRUE(run->RemoveSnapshotsAfter(2));
  EXPECT_EQ(*run->SnapshotSteps(), std::vector<std::int64_t>{2});
}

TEST_F(RunDirectoryTest, RefusesOtherJobsAndForeignDirectories) {
  ASSERT_TRUE(Open());
  const auto other = Open("k", "u");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("holds a run of another job"), std::string::npos) << other.error().message;
  const auto longer = Open("k", "t");
  EXPECT_TRUE(longer) << longer.error().message;
  EXPECT_EQ(RunDirectory::Open(path_)->identity().job, HashBytes(AsBytes("k")));

  path_ = root_;  // holds "new"
  EXPECT_EQ(Open().error().message, root_ + ": holds 'new' but no run; choose a new or empty directory");
  ASSERT_TRUE(WriteFileAtomic(root_ + "/file", AsBytes("x")));
  path_ = root_ + "/file";
  EXPECT_EQ(Open().error().message, path_ + ": is not a directory, expected one for the run");
  EXPECT_FALSE(RunDirectory::Open(root_));
}

TEST_F(RunDirectoryTest, RefusesAnotherSigner) {
  ASSERT_TRUE(Open());
  const std::string first = key_.verify_key().id();
  key_ = SigningKey::Generate("other");
  const auto again = Open();
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("is signed by " + first), std::string::npos) << again.error().message;
}

TEST_F(RunDirectoryTest, AReceiptGoesWhenTheJobChangesAndTheWeightsWithItsNumberOfSteps) {
  ASSERT_TRUE(Open());
  const std::string receipt = path_ + "/receipt.json", weights = path_ + "/model.safetensors";
  ASSERT_TRUE(WriteFileAtomic(receipt, AsBytes("{}")));
  ASSERT_TRUE(WriteFileAtomic(weights, AsBytes("w")));
  ASSERT_TRUE(Open());
  EXPECT_TRUE(Exists(receipt));

  RunContent renamed = ContentFor("j", "t");
  renamed.job_toml += "# other words\n";
  ASSERT_TRUE(RunDirectory::OpenForTraining(path_, renamed, key_.verify_key()));
  EXPECT_FALSE(Exists(receipt));
  EXPECT_TRUE(Exists(weights));
  ASSERT_TRUE(Open("k", "t"));
  EXPECT_FALSE(Exists(weights));
}

TEST_F(RunDirectoryTest, IsNeverCutBack) {
  {
    const auto run = Open("j", "t");
    ASSERT_TRUE(run);
    ASSERT_TRUE(Save(*run, 12));
    ASSERT_TRUE(WriteFileAtomic(run->receipt_path(), AsBytes("{}")));
  }
  RunContent other = ContentFor("k", "t");
  other.steps = 11;
  const auto cut = RunDirectory::OpenForTraining(path_, other, key_.verify_key());
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().message, path_ +
                                     ": has 12 steps and a receipt for them already, and 11 were asked for; ask for 12 or more "
                                     "(--steps) to continue it, or train into another directory");
  EXPECT_TRUE(Exists(path_ + "/receipt.json")) << "nothing was touched";
  EXPECT_EQ(RunDirectory::Open(path_)->identity().job, HashBytes(AsBytes("j")));
  other.steps = 12;
  EXPECT_TRUE(RunDirectory::OpenForTraining(path_, other, key_.verify_key())) << "an interrupted run becomes a finished one";
}

// A change of the job may be cut short anywhere, and be followed by a change to a third job.
TEST_F(RunDirectoryTest, AnInterruptedChangeOfTheJobIsCompletedOrTakenBack) {
  ASSERT_TRUE(Open("k", "t"));
  const Bytes id = *ReadFile(path_ + "/id", 1000), toml = *ReadFile(path_ + "/job.toml", 1000);
  for (const std::string job : {"j", "k", "l"}) {
    ASSERT_TRUE(Open("j", "t"));
    ASSERT_TRUE(WriteFileAtomic(path_ + "/id.next", id));
    ASSERT_TRUE(WriteFileAtomic(path_ + "/job.toml", toml));
    const auto run = Open(job, "t");
    ASSERT_TRUE(run) << run.error().message;
    EXPECT_FALSE(Exists(path_ + "/id.next"));
    EXPECT_TRUE(run->CheckFixedFiles());
    EXPECT_EQ(RunDirectory::Open(path_)->identity().job, HashBytes(AsBytes(job)));
  }
}

TEST_F(RunDirectoryTest, FixedFilesAreThoseThatTheHeaderNames) {
  ASSERT_TRUE(Open());
  EXPECT_TRUE(RunDirectory::Open(path_)->CheckFixedFiles());
  for (const std::string name : {"job.toml", "job.bin", "program.bin"}) {
    const auto good = ReadFile(path_ + "/" + name, 1000);
    FlipByte(path_ + "/" + name, 1);
    EXPECT_EQ(RunDirectory::Open(path_)->CheckFixedFiles().error().message,
              path_ + "/" + name + ": is not the file that 'id' names");
    ASSERT_TRUE(WriteFileAtomic(path_ + "/" + name, *good));
  }
}

TEST_F(RunDirectoryTest, OneProcessAtATime) {
  const auto first = Open();
  ASSERT_TRUE(first);
  const auto second = Open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, path_ + ": another process is training in this directory or checking it");
}

TEST_F(RunDirectoryTest, AnInterruptedCreationIsCompletedAndTemporariesGo) {
  ASSERT_TRUE(MakeDirectories(path_));
  ASSERT_TRUE(WriteFileAtomic(path_ + "/job.bin", AsBytes("half")));
  ASSERT_TRUE(WriteFileAtomic(path_ + "/.id.1-0.assay-tmp", AsBytes("x")));
  ASSERT_TRUE(Open());
  EXPECT_FALSE(Exists(path_ + "/.id.1-0.assay-tmp"));
  ASSERT_TRUE(WriteFileAtomic(path_ + "/events/.e.1-0.assay-tmp", AsBytes("x")));
  ASSERT_TRUE(Open());
  EXPECT_FALSE(Exists(path_ + "/events/.e.1-0.assay-tmp"));
  EXPECT_EQ(*ReadFile(path_ + "/job.bin", 100), (Bytes{1, 2, 3}));
}

TEST_F(RunDirectoryTest, DamagedIdentityIsRefused) {
  ASSERT_TRUE(Open());
  const auto good = ReadFile(path_ + "/id", 1000);
  for (std::size_t i = 0; i < good->size(); ++i) {
    Bytes bad = *good;
    bad[i] ^= 0x80;
    WriteId(bad);
    EXPECT_FALSE(RunDirectory::Open(path_)) << i;
    bad.resize(i);
    WriteId(bad);
    EXPECT_FALSE(RunDirectory::Open(path_)) << i;
  }
}

}  // namespace
}  // namespace assay
