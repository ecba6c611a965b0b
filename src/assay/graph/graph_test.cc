#include "assay/graph/graph.h"

#include <gtest/gtest.h>

#include "support/mini_ops.h"

namespace assay {
namespace {

const TensorType kVector{DType::kF32, {3}};

TEST(Graph, NumbersInputsThenOutputsInNodeOrder) {
  GraphBuilder b(mini::Table());
  const ValueId x = b.Input("x", kVector);
  const ValueId y = b.Input("y", kVector);
  const auto pair = b.Add(mini::kPair, {}, {x});
  const ValueId sum = b.Add(mini::kAdd, {}, {pair[1], y}).front();
  EXPECT_EQ(x, 0u);
  EXPECT_EQ(y, 1u);
  EXPECT_EQ(pair, (std::vector<ValueId>{2, 3}));
  EXPECT_EQ(sum, 4u);
}

TEST(Graph, FinishDropsWhatNoOutputNeedsAndRenumbers) {
  GraphBuilder b(mini::Table());
  const ValueId x = b.Input("x", kVector);
  b.Add(mini::kMul, {}, {x, x});  // dead
  const ValueId a = b.Add(mini::kAdd, {}, {x, x}).front();
  const ValueId dead = b.Add(mini::kScale, {2.0f, std::int64_t{1}}, {a}).front();
  b.Add(mini::kAdd, {}, {dead, a});  // dead, and so is what only it reads
  const auto pair = b.Add(mini::kPair, {}, {a});
  b.Output("second", pair[1]);
  const Graph g = std::move(b).Finish();
  ASSERT_EQ(g.nodes().size(), 2u);
  EXPECT_EQ(g.nodes()[0].op, mini::kAdd);
  EXPECT_EQ(g.nodes()[0].first_output, 1u);
  EXPECT_EQ(g.nodes()[1].op, mini::kPair);
  EXPECT_EQ(g.nodes()[1].inputs, std::vector<ValueId>{1});
  EXPECT_EQ(g.outputs()[0].value, 3u);
  EXPECT_EQ(g.values(), 4u);
}

TEST(Graph, FinishKeepsUnusedInputs) {
  GraphBuilder b(mini::Table());
  b.Input("unused", kVector);
  const ValueId x = b.Input("x", kVector);
  b.Output("x again", x);
  const Graph g = std::move(b).Finish();
  EXPECT_EQ(g.inputs().size(), 2u);
  EXPECT_EQ(g.outputs()[0].value, 1u);
  EXPECT_EQ(g.FindInput("x"), 1u);
  EXPECT_FALSE(g.FindInput("y").has_value());
}

TEST(Graph, RejectsWhatDoesNotFit) {
  GraphBuilder b(mini::Table());
  const ValueId x = b.Input("x", kVector);
  const ValueId y = b.Input("y", {DType::kF32, {4}});
  EXPECT_FALSE(b.TryAdd(mini::kAdd, {}, {x, y}).has_value());                      // types
  EXPECT_FALSE(b.TryAdd(mini::kAdd, {}, {x, 7}).has_value());                      // no such value
  EXPECT_FALSE(b.TryAdd(mini::kAdd, {1.0f}, {x, x}).has_value());                  // attributes
  EXPECT_FALSE(b.TryAdd(mini::kScale, {std::int64_t{1}, 2.0f}, {x}).has_value());  // attributes in the wrong order
  const std::vector<std::int64_t> huge = {std::int64_t{1} << 33, std::int64_t{1} << 33};
  const auto too_big = b.TryAdd(mini::kFill, {huge, 0.0f}, {});
  ASSERT_FALSE(too_big.has_value());
  EXPECT_NE(too_big.error().message.find("2^34"), std::string::npos);
  EXPECT_EQ(b.graph().nodes().size(), 0u);
}

}  // namespace
}  // namespace assay
