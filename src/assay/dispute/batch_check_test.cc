// Files that change while a run answers from them: whoever asks hears nothing that the run's own log contradicts.
#include "assay/dispute/batch_check.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "assay/data/root.h"
#include "assay/run/commit_schedule.h"
#include "support/array_bytes.h"
#include "support/finished_run.h"

namespace assay::dispute {
namespace {

constexpr RunAccount::Limits kNothing{.states = 0, .traces = 0, .nodes = 0, .trees = 0, .batches = 0};
constexpr std::int64_t kSamples = 64, kFeatures = 100;

std::string WriteArrays(const testkit::Scratch& folder) {
  ByteWriter inputs, labels;
  for (std::int64_t i = 0; i < kSamples * kFeatures; ++i) inputs.F32(static_cast<float>(i % 37) / 37);
  for (std::int64_t i = 0; i < kSamples; ++i) labels.I64(i % 3);
  const std::string path = folder / "data.npz";
  EXPECT_TRUE(WriteFileAtomic(
      path, testkit::Zip(
                {{.name = "x.npy", .bytes = testkit::Npy("<f4", fmt::format("({}, {})", kSamples, kFeatures), inputs.bytes())},
                 {.name = "y.npy", .bytes = testkit::Npy("<i8", fmt::format("({},)", kSamples), labels.bytes())}})));
  return path;
}

std::string ArraysJob(const std::string& path) {
  return fmt::format(R"(
steps = 8
seed = 5
[model]
kind = "mlp"
hidden = [6]
[data]
kind = "arrays"
path = "{}"
[batch]
microbatch = 4
microbatches = 2
[commit]
every = 2
[snapshot]
every = 4
keep = 0
)",
                     path);
}

// Flips a bit in each of the array's numbers, in place; twice: as it was.
void Flip(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  for (std::int64_t i = 0; i < kSamples * kFeatures; ++i) {
    const std::streamoff at = 300 + 4 * i;  // behind the headers
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
  }
}

struct Asked {
  std::string what;
  std::function<Result<Bytes>(RunAccount&)> ask;
};

// Every sort of answer that is made from data.
std::vector<Asked> Questions() {
  std::vector<Asked> questions;
  const auto tree = [&](std::string what, TreeName name) {
    questions.push_back({std::move(what), [name](RunAccount& account) -> Result<Bytes> {
                           ASSAY_ASSIGN(const auto made, account.Tree(name));
                           const Digest root = made->root();
                           return Bytes(root.bytes.begin(), root.bytes.end());
                         }});
  };
  tree("batches", {.kind = TreeKind::kBatches, .at = 3});
  tree("states", {.kind = TreeKind::kStates, .at = 3});
  tree("trace", {.kind = TreeKind::kTrace, .at = 6});
  tree("a state", {.kind = TreeKind::kState, .at = 7});
  tree("a tensor of a state", {.kind = TreeKind::kStateTensor, .at = 5, .index = 0});
  tree("a batch", {.kind = TreeKind::kBatch, .at = 6});
  tree("a field", {.kind = TreeKind::kBatchField, .at = 6, .index = 0});
  tree("an input", {.kind = TreeKind::kInput, .at = 6, .node = 0, .index = 0});
  tree("an output", {.kind = TreeKind::kOutput, .at = 6, .node = 0, .index = 0});
  questions.push_back({"a block of a batch", [](RunAccount& account) {
                         return account.Leaf({.kind = TreeKind::kBatchField, .at = 5, .index = 0}, 0);
                       }});
  questions.push_back({"samples", [](RunAccount& account) -> Result<Bytes> {
                         ASSAY_ASSIGN(const SamplesAnswer answer, account.Samples({.step = 6, .begin = 1, .end = 4}));
                         return answer.proof[0].runs[0].bytes;
                       }});
  return questions;
}

class ChangingData : public testing::Test {
 protected:
  ChangingData() : path_(WriteArrays(folder_)), run_(ArraysJob(path_)) {}

  static void ExpectLater(RunAccount& account, const Asked& asked) {
    const auto answer = asked.ask(account);
    ASSERT_FALSE(answer) << asked.what;
    EXPECT_TRUE(answer.error().system) << asked.what << ": " << answer.error().message;
    EXPECT_NE(answer.error().message.find("the data here is not what the run was trained on"), std::string::npos)
        << asked.what << ": " << answer.error().message;
  }

  testkit::Scratch folder_;
  std::string path_;
  TestRun run_;
};

TEST_F(ChangingData, IsNotAnsweredFromUntilItIsAsItWas) {
  for (const Asked& asked : Questions()) {
    SCOPED_TRACE(asked.what);
    const auto fresh = run_.Account(kNothing), used = run_.Account(kNothing);
    const auto right = asked.ask(*run_.Account());
    ASSERT_TRUE(right) << right.error().message;
    // What is kept of one answer does not vouch for the next.
    for (const std::int64_t step : {1, 2}) {
      ASSERT_TRUE(used->Tree({.kind = TreeKind::kBatch, .at = step}));
      ASSERT_TRUE(used->Samples({.step = step, .begin = 0, .end = 1}));
    }
    ASSERT_TRUE(used->Tree({.kind = TreeKind::kBatches, .at = asked.what == "batches" ? 2 : 3}));
    Flip(path_);
    EXPECT_NE(DataRoot(run_.prepared.data.part, nullptr), run_.prepared.identity.data) << "the data is not mapped";
    ExpectLater(*fresh, asked);
    ExpectLater(*used, asked);
    ExpectLater(*used, asked);
    Flip(path_);
    for (RunAccount* account : {fresh.get(), used.get()}) {
      const auto again = asked.ask(*account);
      ASSERT_TRUE(again) << again.error().message;
      EXPECT_EQ(*again, *right);
    }
  }
}

TEST_F(ChangingData, WhatDoesNotDependOnItIsAnswered) {
  const auto account = run_.Account(kNothing);
  Flip(path_);
  EXPECT_TRUE(account->Tree({.kind = TreeKind::kLog}));
  EXPECT_TRUE(account->Tree({.kind = TreeKind::kWeights}));
  EXPECT_TRUE(account->Tree({.kind = TreeKind::kState, .at = 4})) << "there is a snapshot";
}

// Or it could not be asked about its lie.
TEST_F(ChangingData, AFalseLogIsNotTheDatasFault) {
  const auto read = RunLog::Read(run_.run->log_path(), run_.run->signer(), run_.prepared.identity.trajectory);
  RunLog log(run_.prepared.identity.trajectory);
  for (LogEntry entry : read->entries()) {
    if (entry.step == 4) entry.batch_root.bytes[0] ^= 1;
    log.Append(log.Next(entry.step, entry.state_root, entry.batch_root, entry.loss_bits, entry.rounding_root));
  }
  Stepper stepper(run_.prepared, *run_.backend);
  const auto root_of = [&](std::int64_t step) { return stepper.BatchRootOf(stepper.Plan(step - 1)); };
  BatchCheck check(run_.prepared, log, run_.pool, root_of);
  for (const std::int64_t step : {2, 3, 4, 5}) {
    const auto root = check.Root(step);
    ASSERT_TRUE(root) << root.error().message;
    EXPECT_EQ(*root, root_of(step));
    EXPECT_TRUE(check.Check(step, root_of(step)));
    EXPECT_FALSE(check.Check(step, Digest{}));
  }
}

TEST(ChangingWeights, AreNotStartedFrom) {
  TestRun before(RunShape{.steps = 3});
  const testkit::Scratch folder;
  const std::string path = folder / "start.safetensors";
  std::filesystem::copy_file(before.run->weights_path(), path);
  TestRun run(JobText({.steps = 3}) + fmt::format("[init]\nweights = \"{}\"\n", path));
  const auto right = (*run.Account()->Tree({.kind = TreeKind::kState, .at = 0}))->root();
  const auto account = run.Account();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('?');
  file.flush();
  const auto wrong = account->Tree({.kind = TreeKind::kState, .at = 0});
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().system) << wrong.error().message;
  std::filesystem::copy_file(before.run->weights_path(), path, std::filesystem::copy_options::overwrite_existing);
  const auto again = account->Tree({.kind = TreeKind::kState, .at = 0});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->root(), right);
}

}  // namespace
}  // namespace assay::dispute
