#include "assay/dispute/run_account.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "assay/merkle/tree.h"
#include "assay/run/receipt.h"
#include "support/finished_run.h"

namespace assay::dispute {
namespace {

constexpr RunAccount::Limits kNothing{.states = 0, .traces = 0, .nodes = 0, .trees = 0, .batches = 0};

// The leaves of a tree, after the tree was found to be over them.
std::vector<Bytes> LeavesOf(RunAccount& account, const TreeName& name) {
  const auto tree = account.Tree(name);
  EXPECT_TRUE(tree) << tree.error().message;
  std::vector<Bytes> leaves;
  std::vector<Digest> hashes;
  for (std::uint64_t i = 0; i < (*tree)->size(); ++i) {
    const auto leaf = account.Leaf(name, i);
    EXPECT_TRUE(leaf) << leaf.error().message;
    EXPECT_EQ(LeafHash(*leaf), (*tree)->Node({i, i + 1})) << "leaf " << i;
    hashes.push_back(LeafHash(*leaf));
    leaves.push_back(*leaf);
  }
  EXPECT_EQ(TreeRoot(hashes), (*tree)->root());
  EXPECT_FALSE(account.Leaf(name, (*tree)->size()));
  return leaves;
}

Bytes Joined(const std::vector<Bytes>& leaves) {
  Bytes bytes;
  for (const Bytes& leaf : leaves) bytes.insert(bytes.end(), leaf.begin(), leaf.end());
  return bytes;
}

Digest RootOf(RunAccount& account, const TreeName& name) { return (*account.Tree(name))->root(); }

class RunAccountTest : public testing::TestWithParam<std::pair<RunShape, bool>> {
 protected:
  RunAccountTest() : run(GetParam().first), account(run.Account(GetParam().second ? kNothing : RunAccount::Limits{})) {}

  std::int64_t steps() const { return run.prepared.job.steps; }
  // The state's tensors, whole, after the tree over them was compared with `root`.
  std::vector<Bytes> OpenState(std::int64_t at, const Digest& root) {
    EXPECT_EQ(RootOf(*account, {.kind = TreeKind::kState, .at = at}), root) << "state after " << at;
    const std::vector<Bytes> entries = LeavesOf(*account, {.kind = TreeKind::kState, .at = at});
    std::vector<Bytes> tensors;
    for (std::uint32_t t = 0; t < entries.size(); ++t) {
      const TreeName name{.kind = TreeKind::kStateTensor, .at = at, .index = t};
      EXPECT_EQ(entries[t], terms.StateEntry(t, RootOf(*account, name)));
      tensors.push_back(Joined(LeavesOf(*account, name)));
    }
    return tensors;
  }
  std::vector<Bytes> OpenBatch(std::int64_t step, const Digest& root) {
    EXPECT_EQ(RootOf(*account, {.kind = TreeKind::kBatch, .at = step}), root) << "batch of " << step;
    const std::vector<Bytes> entries = LeavesOf(*account, {.kind = TreeKind::kBatch, .at = step});
    std::vector<Bytes> fields;
    for (std::uint32_t f = 0; f < entries.size(); ++f) {
      const TreeName name{.kind = TreeKind::kBatchField, .at = step, .index = f};
      EXPECT_EQ(entries[f], terms.BatchEntry(f, RootOf(*account, name)));
      fields.push_back(Joined(LeavesOf(*account, name)));
    }
    return fields;
  }

  TestRun run;
  std::unique_ptr<RunAccount> account;
  const Terms terms = Terms::Make(ContentOf(run.prepared).job, ContentOf(run.prepared).program).value();
};

TEST_P(RunAccountTest, LogBatchesAndStatesAreWhatTheReceiptBinds) {
  const auto receipt = OpenReceipt(account->receipt(), run.run->signer(), "receipt");
  ASSERT_TRUE(receipt) << receipt.error().message;
  EXPECT_EQ(receipt->job, terms.id());
  EXPECT_EQ(RootOf(*account, {.kind = TreeKind::kLog}), receipt->log.root);
  const std::vector<Bytes> log = LeavesOf(*account, {.kind = TreeKind::kLog});
  ASSERT_EQ(log.size(), receipt->log.size);
  std::vector<LogEntry> entries;
  for (const Bytes& leaf : log) entries.push_back(DecodeLogEntry(leaf, "entry").value());
  OpenState(0, receipt->initial_state_root);
  OpenState(steps(), receipt->final_state_root);

  for (std::int64_t e = static_cast<std::int64_t>(log.size()) - 1; e > 0; --e) {
    const LogEntry& entry = entries[static_cast<std::size_t>(e)];
    EXPECT_EQ(RootOf(*account, {.kind = TreeKind::kBatches, .at = e}), entry.batch_root);
    const std::vector<Bytes> batches = LeavesOf(*account, {.kind = TreeKind::kBatches, .at = e});
    const std::vector<Bytes> states = LeavesOf(*account, {.kind = TreeKind::kStates, .at = e});
    ASSERT_EQ(states.size(), batches.size());
    for (std::size_t i = 0; i < states.size(); ++i) {
      const StepRecord record = DecodeStepRecord(states[i]).value();
      EXPECT_EQ(record.step, terms.StepBefore(e) + static_cast<std::int64_t>(i) + 1);
      OpenState(record.step, record.state_root);
      Digest batch;
      std::ranges::copy(batches[i], batch.bytes.begin());
      OpenBatch(record.step, batch);
    }
    const StepRecord last = DecodeStepRecord(states.back()).value();
    EXPECT_EQ(last.state_root, entry.state_root);
    EXPECT_EQ(last.loss_bits, entry.loss_bits);
    EXPECT_EQ(last.step, entry.step);
  }
}

TEST_P(RunAccountTest, NodesReadWhatOthersWrote) {
  const StepNodes& nodes = terms.nodes();
  for (const std::int64_t step : {std::int64_t{1}, std::int64_t{7}, steps()}) {
    const std::vector<Bytes> before = OpenState(step - 1, RootOf(*account, {.kind = TreeKind::kState, .at = step - 1}));
    const std::vector<Bytes> after = OpenState(step, RootOf(*account, {.kind = TreeKind::kState, .at = step}));
    const std::vector<Bytes> batch = OpenBatch(step, RootOf(*account, {.kind = TreeKind::kBatch, .at = step}));
    std::vector<NodeRecord> records;
    for (const Bytes& leaf : LeavesOf(*account, {.kind = TreeKind::kTrace, .at = step})) {
      records.push_back(DecodeNodeRecord(leaf).value());
    }
    ASSERT_EQ(records.size(), nodes.size());
    std::vector<std::vector<Bytes>> outputs;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      SCOPED_TRACE(fmt::format("step {}, node {}: {}", step, n, nodes.Describe(n)));
      const std::vector<InputSource> sources = nodes.Sources(n);
      ASSERT_EQ(records[n].inputs.size(), sources.size());
      for (std::uint32_t k = 0; k < sources.size(); ++k) {
        const TreeName name{.kind = TreeKind::kInput, .at = step, .node = n, .index = k};
        const Bytes input = Joined(LeavesOf(*account, name));
        EXPECT_EQ(RootOf(*account, name), records[n].inputs[k]);
        const InputSource& source = sources[k];
        const StepPlan plan = Stepper(run.prepared, *run.backend).Plan(step - 1);
        ByteWriter expected;
        switch (source.kind) {
          case InputSource::Kind::kNode: expected.Raw(outputs[source.node][source.index]); break;
          case InputSource::Kind::kState: expected.Raw(before[source.index]); break;
          case InputSource::Kind::kBatch: {
            const auto field = std::ranges::find(terms.fields(), source.index, &Terms::Field::micro_input);
            const ByteSpan whole = batch[static_cast<std::size_t>(field - terms.fields().begin())];
            const std::size_t share = whole.size() / static_cast<std::size_t>(run.prepared.job.batch.microbatches);
            expected.Raw(whole.subspan(static_cast<std::size_t>(source.microbatch) * share, share));
            break;
          }
          case InputSource::Kind::kRng:
            expected.U32(20266);
            expected.U32(0);
            expected.U32(static_cast<std::uint32_t>(step - 1));
            expected.U32(static_cast<std::uint32_t>(source.microbatch));
            break;
          case InputSource::Kind::kLr: expected.F32(LearningRate(run.prepared.job.schedule, step - 1)); break;
          case InputSource::Kind::kStep: expected.I64(step); break;
        }
        EXPECT_EQ(input, expected.bytes()) << "input " << k;
      }
      outputs.emplace_back();
      for (std::uint32_t k = 0; k < records[n].outputs.size(); ++k) {
        const TreeName name{.kind = TreeKind::kOutput, .at = step, .node = n, .index = k};
        outputs.back().push_back(Joined(LeavesOf(*account, name)));
        EXPECT_EQ(RootOf(*account, name), records[n].outputs[k].root);
        EXPECT_EQ(outputs.back().back().size(), records[n].outputs[k].bytes);
      }
    }
    for (std::size_t t = 0; t < before.size(); ++t) {
      const auto writer = nodes.WriterOf(terms.program().state[t].name);
      EXPECT_EQ(after[t], writer ? outputs[writer->node][writer->output] : before[t]) << terms.program().state[t].name;
    }
  }
}

TEST_P(RunAccountTest, ADisputeStaysWithinItsBill) {
  const std::int64_t entries = static_cast<std::int64_t>(terms.entries());
  for (std::int64_t e = 1; e < entries; ++e) {
    for (std::int64_t step = terms.StepBefore(e) + 1; step <= terms.StepOf(e); ++step) {
      const std::unique_ptr<RunAccount> fresh = run.Account(GetParam().second ? kNothing : RunAccount::Limits{});
      if (terms.StepOf(e) - terms.StepBefore(e) > 1) LeavesOf(*fresh, {.kind = TreeKind::kStates, .at = e});
      const std::int64_t traced = fresh->work().steps_traced;
      LeavesOf(*fresh, {.kind = TreeKind::kTrace, .at = step});
      const auto node = static_cast<std::uint32_t>(terms.nodes().size() / 2);
      for (std::uint32_t k = 0; k < terms.nodes().Sources(node).size(); ++k) {
        LeavesOf(*fresh, {.kind = TreeKind::kInput, .at = step, .node = node, .index = k});
      }
      LeavesOf(*fresh, {.kind = TreeKind::kOutput, .at = step, .node = node, .index = 0});
      LeavesOf(*fresh, {.kind = TreeKind::kState, .at = step - 1});
      LeavesOf(*fresh, {.kind = TreeKind::kStateTensor, .at = step - 1, .index = 1});
      LeavesOf(*fresh, {.kind = TreeKind::kState, .at = step});
      const Work bill = fresh->Bill().value().work, work = fresh->work();
      EXPECT_EQ(traced, 0);
      EXPECT_EQ(work.steps_traced, 2) << "step " << step;
      EXPECT_LE(work.steps_run, bill.steps_run) << "step " << step;
      EXPECT_LE(work.batches_loaded, bill.batches_loaded);
    }
  }
}

TEST_P(RunAccountTest, SamplesMakeUpTheBatch) {
  const auto answer =
      account->Samples({.step = 6, .begin = 0, .end = static_cast<std::uint64_t>(4 * GetParam().first.microbatches)});
  ASSERT_TRUE(answer) << answer.error().message;
  const DataClaim claim{.root = run.prepared.data.root, .descriptor = answer->descriptor, .rule = run.prepared.data.rule};
  const auto batch = VerifyStepBatch(answer->proof, claim, run.prepared.job.seed, 5, 4 * GetParam().first.microbatches);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(batch->root, RootOf(*account, {.kind = TreeKind::kBatch, .at = 6}));
  EXPECT_FALSE(account->Samples({.step = 0, .begin = 0, .end = 1}));
  EXPECT_FALSE(account->Samples({.step = 14, .begin = 0, .end = 1}));
  EXPECT_FALSE(account->Samples({.step = 6, .begin = 3, .end = 3}));
  EXPECT_FALSE(account->Samples({.step = 6, .begin = 0, .end = 1000}));
}

TEST_P(RunAccountTest, PartsLeadToTheElement) {
  int derived = 0;
  for (std::uint32_t n = 0; n < terms.nodes().size(); ++n) {
    const OpInstance op = terms.nodes().Instance(n);
    const std::int64_t element = op.out[0].elements() - 1;
    const auto derivation = ref::Derive(op, 0, element);
    PartsQuestion question{.step = 5, .node = n, .output = 0, .element = element, .path = {}};
    const auto parts = account->Parts(question);
    if (!derivation) {
      EXPECT_FALSE(parts);
      continue;
    }
    ++derived;
    ASSERT_TRUE(parts) << parts.error().message;
    ASSERT_EQ(parts->size(), derivation->Parts({}));
    std::vector<Bytes> inputs;
    std::vector<const void*> in;
    for (std::uint32_t k = 0; k < op.in.size(); ++k) {
      inputs.push_back(Joined(LeavesOf(*account, {.kind = TreeKind::kInput, .at = 5, .node = n, .index = k})));
    }
    for (const Bytes& input : inputs) in.push_back(input.data());
    const ref::Value value = derivation->Compute({}, {}, *parts, in);
    const Bytes output = Joined(LeavesOf(*account, {.kind = TreeKind::kOutput, .at = 5, .node = n, .index = 0}));
    ref::Value written = 0;
    std::memcpy(&written, output.data() + 4 * element, 4);
    EXPECT_EQ(value, written) << terms.nodes().Describe(n);
    // One level down, behind everything that stands before it.
    if (parts->empty()) continue;
    question.path = {static_cast<std::uint32_t>(parts->size() - 1)};
    const auto below = account->Parts(question);
    ASSERT_TRUE(below) << below.error().message;
    const ref::Settled settled{{parts->begin(), parts->end() - 1}};
    EXPECT_EQ(below->size(), derivation->Parts(question.path));
    EXPECT_EQ(derivation->Compute(question.path, settled, *below, in), parts->back());
    question.path = {static_cast<std::uint32_t>(parts->size())};
    EXPECT_FALSE(account->Parts(question));
  }
  EXPECT_GT(derived, 0);
  EXPECT_FALSE(account->Parts({.step = 5, .node = 0, .output = 0, .element = 1 << 20, .path = {}}));
  EXPECT_FALSE(account->Parts({.step = 5, .node = 0, .output = 9, .element = 0, .path = {}}));
}

TEST_P(RunAccountTest, WhatTheJobDoesNotHaveIsRefused) {
  const TreeName bad[] = {{.kind = TreeKind::kLog, .at = 1},
                          {.kind = TreeKind::kBatches, .at = 0},
                          {.kind = TreeKind::kStates, .at = 100},
                          {.kind = TreeKind::kTrace, .at = 0},
                          {.kind = TreeKind::kTrace, .at = 14},
                          {.kind = TreeKind::kState, .at = -1},
                          {.kind = TreeKind::kStateTensor, .at = 0, .index = 1000},
                          {.kind = TreeKind::kBatchField, .at = 1, .index = 2},
                          {.kind = TreeKind::kOutput, .at = 1, .node = 100000},
                          {.kind = TreeKind::kOutput, .at = 1, .node = 0, .index = 7}};
  for (const TreeName& name : bad) {
    EXPECT_FALSE(account->Tree(name)) << Describe(CommitQuestion{name});
    EXPECT_FALSE(account->Leaf(name, 0)) << Describe(CommitQuestion{name});
  }
  EXPECT_EQ(account->work(), Work{});
}

INSTANTIATE_TEST_SUITE_P(Shapes, RunAccountTest,
                         testing::Values(std::pair(RunShape{.microbatches = 1, .commit_every = 1}, false),
                                         std::pair(RunShape{.microbatches = 3, .commit_every = 1}, true),
                                         std::pair(RunShape{.microbatches = 1, .commit_every = 2}, true),
                                         std::pair(RunShape{.microbatches = 1, .commit_every = 5, .snapshot_every = 10}, false),
                                         std::pair(RunShape{.microbatches = 3, .commit_every = 5, .snapshot_every = 10},
                                                   false)),
                         [](const auto& shape) {
                           return fmt::format("micro{}commit{}{}", shape.param.first.microbatches,
                                              shape.param.first.commit_every, shape.param.second ? "small" : "");
                         });

// Flips a bit of one element of one node's output in one step, and goes on from there as if it had been computed so.
class Tamperer : public Conduct {
 public:
  Tamperer(std::int64_t step, std::size_t node) : step_(step), node_(node) {}
  Result<StepOutcome> Step(Stepper& stepper, State& state, std::int64_t step) override {
    if (step + 1 != step_) return stepper.Run(state, Plan(stepper, step));
    return stepper.RunTraced(state, Plan(stepper, step), [&](std::size_t node, std::span<const void* const> outputs) {
      if (node == node_) *static_cast<std::uint32_t*>(const_cast<void*>(outputs[0])) ^= 1u << 22;
    });
  }

 private:
  std::int64_t step_;
  std::size_t node_;
};

TEST(RunAccount, TellsALiesConsequences) {
  TestRun run(RunShape{.microbatches = 1, .commit_every = 5, .snapshot_every = 10});
  const auto honest = run.Account();
  Tamperer conduct(7, 0);
  const auto liar = run.Account({}, &conduct);
  const std::vector<Bytes> right = LeavesOf(*honest, {.kind = TreeKind::kStates, .at = 2});
  const std::vector<Bytes> wrong = LeavesOf(*liar, {.kind = TreeKind::kStates, .at = 2});
  // The last is what the run has committed to.
  for (std::size_t i = 0; i < right.size(); ++i) {
    EXPECT_EQ(right[i] == wrong[i], i == 0 || i + 1 == right.size()) << "step " << 6 + i;
  }
  const TreeName trace{.kind = TreeKind::kTrace, .at = 7};
  const NodeRecord first = DecodeNodeRecord(LeavesOf(*honest, trace)[0]).value(),
                   said = DecodeNodeRecord(LeavesOf(*liar, trace)[0]).value();
  EXPECT_EQ(first.inputs, said.inputs);
  EXPECT_NE(first.outputs, said.outputs);
  // Fast, recorded and captured runs of the step tell the same lie.
  const TreeName output{.kind = TreeKind::kOutput, .at = 7, .node = 0, .index = 0};
  LeavesOf(*liar, output);
  EXPECT_EQ(DecodeStepRecord(wrong[1])->state_root, RootOf(*liar, {.kind = TreeKind::kState, .at = 7}));
}

TEST(RunAccount, NeedsAFinishedRunAndItsOwnJob) {
  TestRun run(RunShape{.steps = 3}), other(RunShape{.commit_every = 2, .steps = 3});
  EXPECT_FALSE(RunAccount::Make(*run.run, other.prepared, *run.backend, run.pool, {}));
  std::filesystem::remove(run.run->receipt_path());
  const auto account = RunAccount::Make(*run.run, run.prepared, *run.backend, run.pool, {});
  ASSERT_FALSE(account);
  EXPECT_NE(account.error().message.find("no receipt"), std::string::npos) << account.error().message;
}

}  // namespace
}  // namespace assay::dispute
