#include "assay/exec/launch_schedule.h"

#include <gtest/gtest.h>

#include "assay/ops/builder.h"

namespace assay::exec {
namespace {

// The op names of each launch: "matmul | broadcast_to add relu".
std::string Show(const Graph& graph, const Schedule& schedule) {
  std::string text;
  for (const Launch& launch : schedule.launches) {
    if (!text.empty()) text += " | ";
    for (std::size_t i = 0; i < launch.nodes.size(); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : " ", graph.def(graph.nodes()[launch.nodes[i]]).name);
    }
  }
  return text;
}

struct Builder {
  GraphBuilder b{Ops()};
  OpBuilder ops{b};
  ValueId Input(const char* name, Shape shape) { return b.Input(name, {DType::kF32, shape}); }
  Graph Finish() { return std::move(b).Finish(); }
};

TEST(Schedule, ABroadcastJoinsTheGroupThatUsesIt) {
  Builder m;
  const ValueId x = m.Input("x", {4, 8}), w = m.Input("w", {8, 6}), bias = m.Input("bias", {6});
  const ValueId spread = m.ops.BroadcastTo(bias, {4, 6});
  const ValueId product = m.ops.Matmul(x, w);
  m.b.Output("y", m.ops.Unary(op::relu, m.ops.Add(product, spread)));
  const Graph graph = m.Finish();
  EXPECT_EQ(Show(graph, MakeSchedule(graph, {})), "matmul | broadcast_to add relu");
  EXPECT_EQ(Show(graph, MakeSchedule(graph, {.fuse = false})), "broadcast_to | matmul | add | relu");
}

TEST(Schedule, ANodeMovesBackToTheGroupThatFeedsIt) {
  Builder m;
  const ValueId x = m.Input("x", {4, 4});
  const ValueId y = m.ops.Scale(x, 2);
  const ValueId product = m.ops.Matmul(y, y);
  const ValueId z = m.ops.Scale(y, 3);
  m.b.Output("z", z);
  m.b.Output("product", product);
  const Graph graph = m.Finish();
  EXPECT_EQ(Show(graph, MakeSchedule(graph, {})), "scale scale | matmul");
}

TEST(Schedule, AValueReadAsAWholeIsCompleteBefore) {
  Builder m;
  const ValueId x = m.Input("x", {16});
  const ValueId y = m.ops.Scale(x, 2);
  // Same number of elements, but the broadcast reads y as a whole.
  const ValueId spread = m.ops.BroadcastTo(y, {1, 16});
  m.b.Output("z", m.ops.Neg(spread));
  const Graph graph = m.Finish();
  EXPECT_EQ(Show(graph, MakeSchedule(graph, {})), "scale | broadcast_to neg");
}

TEST(Schedule, ReshapesShareMemoryUnlessTwoOutputsWouldMeet) {
  Builder m;
  const ValueId x = m.Input("x", {2, 8});
  const ValueId flat = m.ops.Reshape(x, {16});
  const ValueId y = m.ops.Neg(flat);
  const ValueId back = m.ops.Reshape(y, {2, 8});
  m.b.Output("input again", flat);
  m.b.Output("y", y);
  m.b.Output("back", back);
  const Graph graph = m.Finish();
  const Schedule schedule = MakeSchedule(graph, {});
  EXPECT_EQ(Show(graph, schedule), "reshape neg reshape");
  EXPECT_EQ(Show(graph, MakeSchedule(graph, {.fuse = false, .alias_reshape = false})), "reshape | neg | reshape");
}

TEST(Schedule, AnUnlaunchedReshapeIsItsInput) {
  Builder m;
  const ValueId x = m.Input("x", {2, 8});
  const ValueId y = m.ops.Neg(x);
  const ValueId flat = m.ops.Reshape(m.ops.Reshape(y, {4, 4}), {16});
  m.b.Output("y", m.ops.Neg(flat));
  const Graph graph = m.Finish();
  const Schedule schedule = MakeSchedule(graph, {});
  EXPECT_EQ(Show(graph, schedule), "neg neg");
  EXPECT_EQ(schedule.root[flat], y);
}

TEST(Schedule, ConstantsThatAreOutputsAreComputed) {
  Builder m;
  m.Input("x", {2});
  m.b.Output("ones", m.ops.Fill({3}, 1));
  const Graph graph = m.Finish();
  EXPECT_EQ(Show(graph, MakeSchedule(graph, {})), "fill");
}

}  // namespace
}  // namespace assay::exec
