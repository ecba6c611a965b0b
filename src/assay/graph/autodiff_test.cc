#include "assay/graph/autodiff.h"

#include <gtest/gtest.h>

#include "support/mini_ops.h"

namespace assay {
namespace {

const TensorType kScalar{DType::kF32, {}};

// A value as an expression of inputs and ops, which shows the order of every addition.
std::string Show(const Graph& g, ValueId v) {
  for (const NamedValue& input : g.inputs()) {
    if (input.value == v) return input.name;
  }
  for (const Node& node : g.nodes()) {
    if (v < node.first_output || v >= node.first_output + node.outputs) continue;
    if (node.op == mini::kFill) return node.attrs.Float(1) == 0 ? "0" : "1";
    std::string operands;
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      operands += fmt::format("{}{}", k == 0 ? "" : " ", Show(g, node.inputs[k]));
    return fmt::format("{}({})", g.def(node).name, operands);
  }
  return "?";
}

TEST(Autodiff, AddsContributionsFromTheLastUseFromTheLeft) {
  GraphBuilder b(mini::Table());
  const ValueId x = b.Input("x", kScalar);
  const ValueId y = b.Input("y", kScalar);
  const ValueId z = b.Input("z", kScalar);
  const ValueId p = b.Add(mini::kMul, {}, {x, y}).front();  // first use of x
  const ValueId q = b.Add(mini::kMul, {}, {p, z}).front();
  const ValueId r = b.Add(mini::kMul, {}, {x, q}).front();     // second use
  const ValueId loss = b.Add(mini::kAdd, {}, {r, x}).front();  // third use
  const std::vector<ValueId> wrt = {x};
  const ValueId dx = Gradients(b, loss, wrt, mini::kAutodiff).front();
  // The contribution of the addition comes first, then that of r, then that of p.
  EXPECT_EQ(Show(b.graph(), dx), "add(add(1 mul(1 mul(mul(x y) z))) mul(mul(mul(1 x) z) y))");
}

TEST(Autodiff, UsesInsideOneNodeGoByPosition) {
  GraphBuilder b(mini::Table());
  const ValueId x = b.Input("x", kScalar);
  const ValueId y = b.Input("y", kScalar);
  const ValueId s = b.Add(mini::kAdd, {}, {x, y}).front();
  const ValueId loss = b.Add(mini::kMul, {}, {s, s}).front();
  const std::vector<ValueId> wrt = {y, x};
  const std::vector<ValueId> d = Gradients(b, loss, wrt, mini::kAutodiff);
  EXPECT_EQ(Show(b.graph(), d[0]), "add(mul(1 add(x y)) mul(1 add(x y)))");
  EXPECT_EQ(d[0], d[1]);
}

TEST(Autodiff, WhatTheLossDoesNotReachIsZero) {
  GraphBuilder b(mini::Table());
  const ValueId x = b.Input("x", kScalar);
  const ValueId y = b.Input("y", {DType::kF32, {2, 3}});
  const ValueId loss = b.Add(mini::kMul, {}, {x, x}).front();
  const std::vector<ValueId> wrt = {y};
  const ValueId dy = Gradients(b, loss, wrt, mini::kAutodiff).front();
  EXPECT_EQ(Show(b.graph(), dy), "0");
  EXPECT_EQ(b.shape(dy), (Shape{2, 3}));
}

TEST(Autodiff, AnOutputWithoutGradientCountsAsZero) {
  GraphBuilder b(mini::Table());
  const ValueId x = b.Input("x", kScalar);
  const auto pair = b.Add(mini::kPair, {}, {x});
  const ValueId loss = b.Add(mini::kAdd, {}, {pair[1], pair[1]}).front();
  const std::vector<ValueId> wrt = {x};
  EXPECT_EQ(Show(b.graph(), Gradients(b, loss, wrt, mini::kAutodiff).front()), "0");
}

TEST(Autodiff, WorkForUnwantedInputsIsDeadCode) {
  GraphBuilder b(mini::Table());
  const ValueId x = b.Input("x", kScalar);
  const ValueId y = b.Input("y", kScalar);
  const ValueId loss = b.Add(mini::kMul, {}, {x, y}).front();
  const std::vector<ValueId> wrt = {x};
  b.Output("dx", Gradients(b, loss, wrt, mini::kAutodiff).front());
  const Graph g = std::move(b).Finish();
  EXPECT_EQ(g.nodes().size(), 2u);  // the constant 1 and one product
}

}  // namespace
}  // namespace assay
