#include "assay/exec/step_nodes.h"

#include <gtest/gtest.h>

#include "assay/ops/table.h"

namespace assay {
namespace {

// Two micro outputs, made by two nodes.
Program ProgramOf(std::int64_t microbatches) {
  Program program;
  program.microbatches = microbatches;
  GraphBuilder micro(Ops());
  const ValueId x = micro.Input("batch/x", {DType::kF32, {4, 3}});
  micro.Output("loss", micro.Add(op::sum_squares, {}, {x})[0]);
  micro.Output("stat/twice", micro.Add(op::add, {}, {x, x})[0]);
  program.micro = std::move(micro).Finish();
  GraphBuilder update(Ops());
  program.update = std::move(update).Finish();
  return program;
}

struct Operand {
  std::size_t node = 0;
  friend bool operator==(const Operand&, const Operand&) = default;
};

// The tree as docs/formats/program.md describes it, laid out level by level: the operands of each of its nodes.
std::vector<std::vector<Operand>> LaidOut(std::size_t microbatches, std::size_t micro_nodes, std::size_t outputs) {
  std::vector<std::vector<Operand>> level(outputs), nodes;
  for (std::size_t k = 0; k < outputs; ++k) {
    for (std::size_t m = 0; m < microbatches; ++m) level[k].push_back({m * micro_nodes + k});
  }
  const std::size_t base = microbatches * micro_nodes;
  while (level[0].size() > 1) {
    std::vector<std::vector<Operand>> above(outputs);
    for (std::size_t pair = 0; pair + 1 < level[0].size(); pair += 2) {
      for (std::size_t k = 0; k < outputs; ++k) {
        above[k].push_back({base + nodes.size()});
        nodes.push_back({level[k][pair], level[k][pair + 1]});
      }
    }
    if (level[0].size() % 2 == 1) {
      for (std::size_t k = 0; k < outputs; ++k) above[k].push_back(level[k].back());
    }
    level = std::move(above);
  }
  for (std::size_t k = 0; k < outputs; ++k) nodes.push_back({level[k][0]});
  return nodes;
}

TEST(StepNodes, TheTreeOverMicrobatches) {
  for (std::size_t microbatches = 2; microbatches <= 70; ++microbatches) {
    const Program program = ProgramOf(static_cast<std::int64_t>(microbatches));
    const StepNodes nodes(program);
    const auto expected = LaidOut(microbatches, 2, 2);
    ASSERT_EQ(nodes.update_begin(), 2 * microbatches + expected.size());
    for (std::size_t at = 0; at < expected.size(); ++at) {
      const std::vector<InputSource> sources = nodes.Sources(2 * microbatches + at);
      std::vector<Operand> found;
      for (const InputSource& source : sources) {
        EXPECT_EQ(source.kind, InputSource::Kind::kNode);
        EXPECT_EQ(source.index, 0u);
        found.push_back({source.node});
      }
      EXPECT_EQ(found, expected[at]) << "node " << at << " of the tree over " << microbatches;
    }
  }
}

}  // namespace
}  // namespace assay
