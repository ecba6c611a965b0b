// The optional attribute `digits` in programs: one encoding of each, and what others are refused; gradients have it wherever the op has it.
#include "assay/ops/digits.h"

#include <gtest/gtest.h>

#include "assay/graph/autodiff.h"
#include "assay/ops/builder.h"

namespace assay {
namespace {

TensorType F32(Shape shape) { return {DType::kF32, shape}; }

// y = a b.
Graph Product(int digits) {
  GraphBuilder builder(Ops());
  OpBuilder ops(builder, digits);
  const ValueId a = builder.Input("a", F32({2, 3})), b = builder.Input("b", F32({3, 4}));
  builder.Output("y", ops.Matmul(a, b));
  return std::move(builder).Finish();
}

// The same by hand: `attributes` are what follows the version.
Bytes Encoded(std::uint16_t op, std::uint16_t version, std::span<const std::int64_t> attributes, std::uint32_t inputs = 2) {
  ByteWriter out;
  out.U32(2);
  for (const auto& [name, rows, columns] : {std::tuple{"a", 2, 3}, std::tuple{"b", 3, 4}}) {
    out.String(name);
    out.U8(1);
    out.U8(2);
    out.I64(rows);
    out.I64(columns);
  }
  out.U32(1);
  out.U16(op);
  out.U16(version);
  for (const std::int64_t attribute : attributes) out.I64(attribute);
  out.U32(inputs);
  for (std::uint32_t k = 0; k < inputs; ++k) out.U32(k);
  out.U32(1);
  out.String("y");
  out.U32(2);
  return out.Take();
}

Bytes Encoded(const Graph& graph) {
  ByteWriter out;
  Encode(graph, out);
  return out.Take();
}

Result<Graph> Decoded(ByteSpan bytes) {
  ByteReader in(bytes, "graph");
  auto graph = DecodeGraph(Ops(), in);
  if (graph && !in.End()) return Err("something behind the graph");
  return graph;
}

constexpr std::uint16_t kMatmul = 80, kAdd = 2, kRelu = 32;

TEST(Digits, AreEncodedWhereTheyAre) {
  const std::vector<std::int64_t> none = {0, 0}, three = {0, 0, 3};
  EXPECT_EQ(Encoded(Product(0)), Encoded(kMatmul, 1, none));
  EXPECT_EQ(Encoded(Product(3)), Encoded(kMatmul, 0x8001, three));
  for (const int digits : {0, 2, 3}) {
    const Bytes bytes = Encoded(Product(digits));
    const auto graph = Decoded(bytes);
    ASSERT_TRUE(graph.has_value()) << graph.error().message;
    EXPECT_EQ(ops::DigitsOf(graph->Instance(graph->nodes()[0])), digits);
    EXPECT_EQ(Encoded(*graph), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(Decoded(ByteSpan(bytes).first(size))) << size;
  }
}

TEST(Digits, OtherEncodingsAreRefused) {
  const auto refused = [](const Bytes& bytes) { return !Decoded(bytes).has_value(); };
  for (const std::int64_t value :
       {std::int64_t{-1}, std::int64_t{0}, std::int64_t{1}, std::int64_t{4}, std::int64_t{1} << 32}) {
    EXPECT_TRUE(refused(Encoded(kMatmul, 0x8001, std::vector<std::int64_t>{0, 0, value}))) << value;
  }
  EXPECT_TRUE(refused(Encoded(kMatmul, 0x8001, std::vector<std::int64_t>{0, 0})));  // said to be there
  EXPECT_TRUE(refused(Encoded(kMatmul, 1, std::vector<std::int64_t>{0, 0, 3})));    // not said to be there
  EXPECT_TRUE(refused(Encoded(kMatmul, 0x8002, std::vector<std::int64_t>{0, 0, 3})));
  EXPECT_TRUE(refused(Encoded(kMatmul, 0x4001, std::vector<std::int64_t>{0, 0, 3})));
  EXPECT_TRUE(refused(Encoded(kRelu, 0x8001, std::vector<std::int64_t>{}, 1)));  // an op without
  EXPECT_TRUE(refused(Encoded(kRelu, 0x8001, std::vector<std::int64_t>{3}, 1)));
  EXPECT_TRUE(refused(Encoded(kAdd, 0x8001, std::vector<std::int64_t>{2})));
  Bytes longer = Encoded(Product(2));
  longer.push_back(0);
  EXPECT_TRUE(refused(longer));
}

// Every contraction that the gradients consist of has the digits of the one they belong to.
TEST(Digits, GradientsHaveThem) {
  for (const int digits : {0, 2, 3}) {
    GraphBuilder builder(Ops());
    OpBuilder ops(builder, digits);
    const ValueId a = builder.Input("a", F32({2, 4, 4})), shared = builder.Input("shared", F32({4, 4}));
    const ValueId x = builder.Input("x", F32({2, 5, 5, 4})), w = builder.Input("w", F32({4, 3, 3, 2}));
    const ValueId q = builder.Input("q", F32({1, 4, 2, 4})), rng = builder.Input("rng", {DType::kU32, {4}});
    ValueId y = a;
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) y = ops.Matmul(ops.Matmul(shared, ops.Matmul(y, shared, ta, tb), ta, tb), a, ta, tb);
    }
    const ValueId image = ops.Conv2d(x, w, 2, 1, 2), o = ops.Attention(q, q, q, rng, true, 0.5f, 0.1f, 3).front();
    ValueId loss = ops.RowSum(y, 0);
    for (const ValueId each : {image, o}) loss = ops.Add(loss, ops.RowSum(each, 0));
    const std::vector<ValueId> gradients = Gradients(builder, loss, std::vector{a, shared, x, w, q}, kAutodiffOps);
    for (const ValueId gradient : gradients) builder.Output(std::to_string(gradient), gradient);
    int contractions = 0, others = 0;
    for (const Node& node : builder.graph().nodes()) {
      const OpDef& def = builder.graph().def(node);
      (TakesOptional(def.attrs) ? contractions : others) += 1;
      EXPECT_EQ(ops::DigitsOf(def, node.attrs), TakesOptional(def.attrs) ? digits : 0) << def.name;
    }
    EXPECT_GE(contractions, 12 + 24 + 3 + 2);
    EXPECT_GT(others, 0);
  }
}

}  // namespace
}  // namespace assay
