// Leaves that no honest run has: of a wrong length, of another step, of no tensor of the job. One of the parties shows them, or both agree on them; what is
// found has its exact place in docs/formats/evidence.md, and other judges are given the evidence.
#include <gtest/gtest.h>

#include "assay/dispute/leaf_records.h"
#include "assay/merkle/tree.h"
#include "jobs_for_test.h"
#include "tried.h"

namespace assay::dispute {
namespace {

constexpr TreeName kBatchOfStep1{.kind = TreeKind::kBatch, .at = 1};

class OddLeaves : public testing::Test {
 protected:
  void Prepare(const std::string& job) {
    prepared_ = std::make_unique<PreparedJob>(PreparedFrom(job));
    honest_ = std::make_unique<MemoryRun>(*prepared_, HonestKey(), Lies{});
  }
  Finding Between(Lies a, Lies b) {
    MemoryRun one(*prepared_, HonestKey(), std::move(a)), two(*prepared_, LiarKey(), std::move(b));
    const Played played = Tried(one, HonestKey(), two, LiarKey());
    EXPECT_NE(played.finding(), nullptr) << "no verdict after " << played.rounds << " rounds";
    return played.finding() == nullptr ? Finding{} : *played.finding();
  }
  // The batch of step 1 with other bytes for its field 0, which are one block.
  Lies OtherField(const Bytes& block, Lies lies = {}) const {
    const Bytes entry = honest_->terms().BatchEntry(0, LeafHash(block));
    const Digest root = TreeRoot({LeafHash(entry), LeafHash(*honest_->Leaf(kBatchOfStep1, 1))});
    lies.leaves = [=, more = lies.leaves](const TreeName& tree, std::vector<Bytes>& leaves) {
      if (tree.kind == TreeKind::kBatches && tree.at == 1) leaves[0].assign(root.bytes.begin(), root.bytes.end());
      if (tree == kBatchOfStep1) leaves[0] = entry;
      if (tree.kind == TreeKind::kBatchField && tree.at == 1 && tree.index == 0) leaves = {block};
      if (more) more(tree, leaves);
    };
    lies.entry = [=](LogEntry& said) {
      if (said.step == 1) said.batch_root = LeafHash(root.bytes);
    };
    return lies;
  }
  std::unique_ptr<PreparedJob> prepared_;
  std::unique_ptr<MemoryRun> honest_;
};

void FlipAfterStep1(std::int64_t step, State& state) {
  if (step == 1) state[0].mutable_bytes()[0] ^= 1;
}

// Two who tell the same lie about a step do not make it true.
TEST_F(OddLeaves, AgreedRecordOfAnotherStep) {
  Prepare(MlpJob(8, 4, 1));
  const auto misnumber = [](const TreeName& tree, std::vector<Bytes>& leaves) {
    if (tree.kind != TreeKind::kStates || tree.at != 1) return;
    StepRecord record = *DecodeStepRecord(leaves[1]);
    record.step = 7;
    leaves[1] = Encode(record);
  };
  const auto flip = [](std::int64_t step, State& state) { state[0].mutable_bytes()[0] ^= step == 3 ? 1 : 0; };
  const Finding finding = Between({.leaves = misnumber}, {.after = flip, .leaves = misnumber});
  EXPECT_EQ(finding.cause, Cause::kHistory) << finding.reason;
  EXPECT_TRUE(finding.guilty[0] && finding.guilty[1]);
  EXPECT_EQ(finding.step, std::nullopt);
}

TEST_F(OddLeaves, BatchRootThatIsNone) {
  Prepare(MlpJob());
  const Bytes leaf(31, 7);
  const Finding finding = Between({}, {.entry =
                                           [&](LogEntry& entry) {
                                             if (entry.step == 1) entry.batch_root = LeafHash(leaf);
                                           },
                                       .leaves =
                                           [&](const TreeName& tree, std::vector<Bytes>& leaves) {
                                             if (tree.kind == TreeKind::kBatches && tree.at == 1) leaves = {leaf};
                                           }});
  EXPECT_EQ(finding.cause, Cause::kBatch) << finding.reason;
  EXPECT_TRUE(!finding.guilty[0] && finding.guilty[1]);
  EXPECT_EQ(finding.step, 1);
  EXPECT_EQ(finding.index, std::nullopt);
}

// No sample is asked for where the length alone decides.
TEST_F(OddLeaves, BatchBlockOfAWrongLength) {
  Prepare(MlpJob());
  const Bytes right = *honest_->Leaf({.kind = TreeKind::kBatchField, .at = 1, .index = 0}, 0);
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, right.size() - 4, right.size() + 4}) {
    Bytes block = right;
    block.resize(size);
    const Finding finding = Between({}, OtherField(block));
    EXPECT_EQ(finding.cause, Cause::kBatch) << finding.reason;
    EXPECT_TRUE(!finding.guilty[0] && finding.guilty[1]) << size;
    EXPECT_EQ(finding.index, 0u);
    EXPECT_EQ(finding.leaf, 0u);
  }
}

// What both call the batch has too few bytes for the node that reads it: neither has the right ones, not even who read those that there are.
TEST_F(OddLeaves, AgreedBatchThatIsTooShort) {
  Prepare(MlpJob());
  const Bytes block(10, 1);
  const Lies other{.after = FlipAfterStep1,
                   .record =
                       [&](std::int64_t step, NodeRecord& record) {
                         if (step == 1 && record.node == 0) record.inputs[0] = LeafHash(block);
                       },
                   .leaves =
                       [&](const TreeName& tree, std::vector<Bytes>& leaves) {
                         if (tree.kind == TreeKind::kInput && tree.node == 0 && tree.index == 0) leaves = {block};
                       }};
  const Finding finding = Between(OtherField(block), OtherField(block, other));
  EXPECT_EQ(finding.cause, Cause::kInput) << finding.reason;
  EXPECT_TRUE(finding.guilty[0] && finding.guilty[1]);
  EXPECT_EQ(finding.leaf, 0u);
}

// A list of tensors that is not the job's: who shows it falls for what the list was opened for.
TEST_F(OddLeaves, StateOfOtherTensors) {
  Prepare(MlpJob());
  std::vector<Digest> hashes;
  Bytes odd = *honest_->Leaf({.kind = TreeKind::kState, .at = 1}, 0);
  odd.push_back(0);
  for (std::size_t i = 0; i < prepared_->program.state.size(); ++i) {
    hashes.push_back(LeafHash(i == 0 ? odd : *honest_->Leaf({.kind = TreeKind::kState, .at = 1}, i)));
  }
  const Digest root = TreeRoot(hashes);
  const Finding finding = Between({}, {.entry =
                                           [&](LogEntry& entry) {
                                             if (entry.step == 1) entry.state_root = root;
                                           },
                                       .leaves =
                                           [&](const TreeName& tree, std::vector<Bytes>& leaves) {
                                             if (tree.kind == TreeKind::kState && tree.at == 1) leaves[0] = odd;
                                           }});
  EXPECT_EQ(finding.cause, Cause::kResult) << finding.reason;
  EXPECT_TRUE(!finding.guilty[0] && finding.guilty[1]);
  EXPECT_EQ(finding.step, 1);
  EXPECT_EQ(finding.index, std::nullopt);
}

}  // namespace
}  // namespace assay::dispute
