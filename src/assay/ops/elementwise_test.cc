// Programs come from outside: what the shape rules of the elementwise family must refuse, and what they must accept.
#include "assay/ops/elementwise.h"

#include <gtest/gtest.h>

#include <limits>

#include "assay/ops/table.h"

namespace assay {
namespace {

using Types = std::vector<TensorType>;
using Dims = std::vector<std::int64_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

TensorType F(Shape shape) { return {DType::kF32, shape}; }
const TensorType kRng{DType::kU32, {4}};
const TensorType kStep{DType::kI64, {}};

bool Accepts(OpIndex op, const Attrs& attrs, const Types& in) { return Ops()[op].infer(attrs, in).has_value(); }

TEST(ElementwiseRules, InputCountTypeAndShape) {
  for (OpIndex op : {op::add, op::sub, op::mul, op::div, op::maximum, op::relu_grad, op::gelu_tanh_grad}) {
    EXPECT_TRUE(Accepts(op, {}, {F({2, 3}), F({2, 3})}));
    EXPECT_FALSE(Accepts(op, {}, {}));
    EXPECT_FALSE(Accepts(op, {}, {F({2})}));
    EXPECT_FALSE(Accepts(op, {}, {F({2}), F({2}), F({2})}));
    EXPECT_FALSE(Accepts(op, {}, {F({2, 3}), F({3, 2})}));
    EXPECT_FALSE(Accepts(op, {}, {F({2}), {DType::kI32, {2}}}));
    EXPECT_FALSE(Accepts(op, {}, {{DType::kF64, {2}}, {DType::kF64, {2}}}));
  }
  for (OpIndex op : {op::neg, op::exp, op::log, op::tanh, op::relu, op::silu}) {
    EXPECT_TRUE(Accepts(op, {}, {F({0, 3})}));
    EXPECT_FALSE(Accepts(op, {}, {}));
    EXPECT_FALSE(Accepts(op, {}, {{DType::kU32, {2}}}));
  }
}

TEST(ElementwiseRules, ShapesFromOutside) {
  const auto fill = [](Dims dims) { return Accepts(op::fill, {std::move(dims), 1.0f}, {}); };
  EXPECT_TRUE(fill({}));
  EXPECT_TRUE(fill({0}));
  EXPECT_TRUE(fill({1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_TRUE(fill({std::int64_t{1} << 34}));
  EXPECT_FALSE(fill({1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_FALSE(fill({-1}));
  EXPECT_FALSE(fill({-2, -3}));
  EXPECT_FALSE(fill({(std::int64_t{1} << 34) + 1}));
  EXPECT_FALSE(fill({std::int64_t{1} << 32, std::int64_t{1} << 32}));
  EXPECT_FALSE(fill({0, std::int64_t{1} << 32, std::int64_t{1} << 32}));
  EXPECT_FALSE(fill({std::numeric_limits<std::int64_t>::max(), 2}));
  EXPECT_FALSE(Accepts(op::fill, {Dims{2}, 1.0f}, {F({2})}));
}

TEST(ElementwiseRules, Reshape) {
  EXPECT_TRUE(Accepts(op::reshape, {Dims{3, 2}}, {F({6})}));
  EXPECT_TRUE(Accepts(op::reshape, {Dims{5, 0}}, {F({0})}));
  EXPECT_FALSE(Accepts(op::reshape, {Dims{3, 3}}, {F({6})}));
  EXPECT_FALSE(Accepts(op::reshape, {Dims{-3, -2}}, {F({6})}));
  EXPECT_FALSE(Accepts(op::reshape, {Dims{6}}, {{DType::kI32, {6}}}));
}

TEST(ElementwiseRules, BroadcastTo) {
  const auto broadcast = [](Shape from, Dims to) { return Accepts(op::broadcast_to, {std::move(to)}, {F(from)}); };
  EXPECT_TRUE(broadcast({}, {4, 3}));
  EXPECT_TRUE(broadcast({3}, {4, 3}));
  EXPECT_TRUE(broadcast({4, 1}, {4, 3}));
  EXPECT_TRUE(broadcast({1}, {0}));
  EXPECT_FALSE(broadcast({4}, {4, 3}));
  EXPECT_FALSE(broadcast({2, 3}, {3}));
  EXPECT_FALSE(broadcast({1, 3}, {3}));  // the rank alone is wrong
  EXPECT_FALSE(broadcast({0}, {3}));
  EXPECT_FALSE(broadcast({3}, {0}));
  EXPECT_FALSE(broadcast({1}, {-1}));
}

TEST(ElementwiseRules, Dropout) {
  const auto dropout = [](float p, std::int64_t stream, const TensorType& rng) {
    return Accepts(op::dropout, {p, stream}, {F({5}), rng});
  };
  EXPECT_TRUE(dropout(0.0f, 0, kRng));
  EXPECT_TRUE(dropout(0.99f, 0xffffffff, kRng));
  for (float p : {1.0f, -0.1f, kNan, kInf}) EXPECT_FALSE(dropout(p, 0, kRng)) << p;
  for (std::int64_t stream : {std::int64_t{-1}, std::int64_t{1} << 32}) EXPECT_FALSE(dropout(0.1f, stream, kRng)) << stream;
  EXPECT_FALSE(dropout(0.1f, 0, {DType::kU32, {3}}));
  EXPECT_FALSE(dropout(0.1f, 0, {DType::kI32, {4}}));
}

TEST(ElementwiseRules, Optimizers) {
  const Shape p{3, 2};
  const Types adam = {F(p), F(p), F(p), F(p), F({}), F({}), kStep};
  const Attrs attrs = {0.9f, 0.999f, 1e-8f, 0.01f};
  for (OpIndex op : {op::adam, op::adamw}) {
    EXPECT_TRUE(Accepts(op, attrs, adam));
    for (std::size_t k = 0; k < adam.size(); ++k) {
      Types wrong = adam;
      wrong[k] = F({7});
      EXPECT_FALSE(Accepts(op, attrs, wrong)) << k;
      wrong.erase(wrong.begin() + static_cast<std::ptrdiff_t>(k));
      EXPECT_FALSE(Accepts(op, attrs, wrong)) << k;
    }
    for (float beta : {1.0f, -0.1f, kNan}) {
      EXPECT_FALSE(Accepts(op, {beta, 0.9f, 1e-8f, 0.0f}, adam)) << beta;
      EXPECT_FALSE(Accepts(op, {0.9f, beta, 1e-8f, 0.0f}, adam)) << beta;
    }
    for (float eps : {-1.0f, kNan, kInf}) EXPECT_FALSE(Accepts(op, {0.9f, 0.9f, eps, 0.0f}, adam)) << eps;
    EXPECT_FALSE(Accepts(op, {0.9f, 0.9f, 1e-8f, kNan}, adam));
  }
  const Types sgd = {F(p), F(p), F(p), F({}), F({})};
  EXPECT_TRUE(Accepts(op::sgd, {0.9f, 0.0f, 0.0f, std::int64_t{1}}, sgd));
  EXPECT_FALSE(Accepts(op::sgd, {0.9f, 0.0f, 0.0f, std::int64_t{2}}, sgd));
  EXPECT_FALSE(Accepts(op::sgd, {kInf, 0.0f, 0.0f, std::int64_t{0}}, sgd));
}

// A block of a broadcast output needs the inputs it reads and little more: a referee fetches them.
TEST(ElementwiseRules, BroadcastDependenciesAreTight) {
  const OpDef& def = Ops()[op::broadcast_to];
  const auto needs = [&](Shape from, Dims to, Range range) {
    const Types in = {F(from)};
    const OpInstance op{&def, {to}, in, def.infer({to}, in).value()};
    std::int64_t total = 0;
    for (const InputRange& r : def.dependencies(op, 0, range)) total += r.length * r.repeat;
    return total;
  };
  EXPECT_EQ(needs({}, {1000, 1000}, {500, 1500}), 1);
  EXPECT_EQ(needs({5000}, {100, 5000}, {5100, 6124}), 1024);
  EXPECT_EQ(needs({100, 1}, {100, 5000}, {5100, 6124}), 1);
  EXPECT_EQ(needs({100, 1}, {100, 5000}, {4900, 5924}), 2);
  EXPECT_EQ(needs({3, 5}, {3, 5}, {4, 6}), 10);  // two rows
  EXPECT_EQ(needs({3, 5}, {3, 5}, {6, 6}), 0);
}

}  // namespace
}  // namespace assay
