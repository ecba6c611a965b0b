// What evidence costs its judge: files that say little about a program in which every node, or the last of very many, is dear to look at.
#include <gtest/gtest.h>

#include <ctime>

#include "assay/job/limits.h"
#include "assay/ops/table.h"
#include "assay/rounding/decision_log.h"
#include "crafted.h"

namespace assay::dispute {
namespace {

Job OneMicrobatch() {
  Job job = SmallMlp();
  job.batch.microbatches = 1;
  return job;
}

// CPU time, since others use the machine too.
double SecondsToJudge(const Evidence& evidence) {
  const Evidence read = DecodeEvidence(Encode(evidence)).value();
  const std::clock_t begin = std::clock();
  static_cast<void>(Judge(read));
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Each statement is measured by what a true answer to its question could have: here the records of 64 nodes with as many inputs as a record may have.
TEST(Costs, StatementsAboutNodesWithManyInputs) {
  constexpr std::uint32_t kNodes = 64, kInputs = 8000, kStatements = 1500;
  const auto wide = [](GraphBuilder& graph, ValueId x) {
    ValueId value = graph.Add(op::sum_squares, {}, {x})[0];
    for (std::uint32_t i = 0; i < kNodes; ++i)
      value = graph.Add(op::clip_scale, {1.0f}, std::vector<ValueId>(kInputs, value))[0];
    return value;
  };
  const Program program = WithLoss(wide, {{"w", {DType::kF32, {3}}, {}}}, {DType::kF32, {4, 7}});
  const Terms terms = Terms::Make(Encode(OneMicrobatch(), ForgedInputs()), Encode(program)).value();
  Crafted crafted(terms);
  crafted.Add({}), crafted.Add(TreeName{.kind = TreeKind::kTrace, .at = 2});
  const double nothing = SecondsToJudge(crafted.Make({}));
  Draw draw{.claims = {0, 1}, .said = {}};
  Evidence evidence = crafted.Make({});
  evidence.parties[0].unsigned_answers = true;  // signatures cost what they cost
  for (StatementId id = 0; id < kStatements; ++id) {
    const TreeName input{.kind = TreeKind::kInput, .at = 1, .node = 1 + id % kNodes}, trace{.kind = TreeKind::kTrace, .at = 1};
    const LeavesQuestion about = id % 2 == 0 ? LeavesQuestion{trace, {{1, 1 + kNodes}}} : LeavesQuestion{input, {{0, 1}}};
    evidence.statements.push_back({about, {}, {{.provider = 0, .signature = {}}}});
    draw.said[0].push_back(id);
  }
  evidence.charges = {draw};
  EXPECT_LE(SecondsToJudge(evidence), 5 * nothing + 0.5);
}

// An element of the last node has a place in the rounding log that counts the elements of all nodes before it, in every trial.
TEST(Costs, TrialsAboutTheLastOfManyNodes) {
  constexpr std::size_t kTrials = 60;
  Program program = WithLoss(
      [](GraphBuilder& graph, ValueId x) {
        ValueId value = graph.Add(op::sum_squares, {}, {x})[0];
        for (std::uint32_t i = 1; i < kMaxNodes; ++i) value = graph.Add(op::add, {}, {value, value})[0];
        return value;
      },
      {{"w", {DType::kF32, {3}}, {}}}, {DType::kF32, {4, 7}});
  GraphBuilder update(Ops());
  ValueId value = update.Input("state/w", {DType::kF32, {3}});
  for (std::uint32_t i = 1; i < kMaxNodes; ++i) value = update.Add(op::add, {}, {value, value})[0];
  update.Output("state/w", update.Add(op::softmax, {}, {value})[0]);
  program.update = std::move(update).Finish();
  Job job = OneMicrobatch();
  job.precision = Precision::kFp64Rounded;
  const Terms terms = Terms::Make(Encode(job, ForgedInputs()), Encode(program)).value();

  Crafted crafted(terms);
  Forgeries logs;
  for (std::int64_t step = 1; step <= job.steps; ++step) logs.logs[step] = rounding::EncodeDecisions({}, 1 + 3);
  const auto last = static_cast<std::uint32_t>(terms.nodes().size() - 1);
  crafted.Add({}, logs);
  const ProviderId liar = crafted.Add(TreeName{.kind = TreeKind::kOutput, .at = 2, .node = last}, logs);
  const Trial trial = crafted.Tried(0, liar);
  ASSERT_TRUE(std::holds_alternative<Finding>(crafted.outcome().next));
  // Many others who promise what the liar does fall one by one.
  std::vector<ProviderId> others;
  std::vector<Charge> charges;
  for (std::size_t i = 0; i < kTrials; ++i) {
    others.push_back(crafted.AddLike(liar));
    charges.emplace_back(trial);
    std::get<Trial>(charges.back()).convicted = {others.back()};
  }
  for (const StatementId id : trial.said[1]) {
    const Statement said = crafted.statement(id);
    if (!ProvesItself(said.question)) crafted.Say(said.question, said.body, others);
  }
  const Evidence evidence = crafted.Make(charges);
  const auto judgement = Judge(evidence);
  ASSERT_TRUE(judgement) << judgement.error().message;
  EXPECT_TRUE(judgement->convicts);
  EXPECT_LE(SecondsToJudge(evidence), 3 * SecondsToJudge(crafted.Make({charges.front()})) + 0.2);
}

}  // namespace
}  // namespace assay::dispute
