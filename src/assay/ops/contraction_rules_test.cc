// What the shape rules of contractions, layout ops, rope and attention refuse, since a kernel could not handle it.
#include <gtest/gtest.h>

#include <limits>

#include "assay/ops/table.h"

namespace assay {
namespace {

using Ints = std::vector<std::int64_t>;

TensorType F32(Shape shape) { return {DType::kF32, shape}; }
constexpr std::int64_t kHuge = std::int64_t{1} << 40;

bool Accepts(OpIndex op, Attrs attrs, std::vector<TensorType> in) { return Ops()[op].infer(attrs, in).has_value(); }

Attrs I(std::initializer_list<std::int64_t> values) {
  Attrs attrs;
  for (std::int64_t v : values) attrs.Append(v);
  return attrs;
}

TEST(Matmul, Refuses) {
  EXPECT_TRUE(Accepts(op::matmul, I({0, 1}), {F32({2, 3, 4}), F32({5, 4})}));
  EXPECT_FALSE(Accepts(op::matmul, I({0, 0}), {F32({3, 4})}));
  EXPECT_FALSE(Accepts(op::matmul, I({0, 2}), {F32({3, 4}), F32({5, 4})}));
  EXPECT_FALSE(Accepts(op::matmul, I({0, 0}), {F32({3, 4}), F32({5, 4})}));
  EXPECT_FALSE(Accepts(op::matmul, I({0, 0}), {F32({4}), F32({4, 5})}));
  EXPECT_FALSE(Accepts(op::matmul, I({0, 0}), {F32({2, 3, 4}), F32({3, 4, 5})}));
  EXPECT_FALSE(Accepts(op::matmul, I({0, 0}), {F32({2, 2, 3, 4}), F32({2, 4, 5})}));
  EXPECT_FALSE(Accepts(op::matmul, I({0, 0}), {F32({3, 4}), {DType::kI32, {4, 5}}}));
  EXPECT_FALSE(Accepts(op::matmul, I({0, 0}), {F32({kHuge, 0}), F32({0, kHuge})}));
}

TEST(Digits, AreTwoOrThreeOrNotThere) {
  const TensorType x = F32({2, 8, 8, 4}), w = F32({6, 3, 3, 4}), y = F32({2, 4, 4, 6}), q = F32({1, 4, 2, 8}),
                   lse = F32({1, 2, 4});
  const TensorType rng{DType::kU32, {4}};
  const std::int64_t one = 1;
  for (std::int64_t digits = -1; digits <= 5; ++digits) {
    const bool fits = digits == 2 || digits == 3;
    EXPECT_EQ(Accepts(op::matmul, I({0, 1, digits}), {F32({3, 4}), F32({5, 4})}), fits) << digits;
    EXPECT_EQ(Accepts(op::conv2d, I({1, 1, 1, digits}), {x, w}), fits) << digits;
    EXPECT_EQ(Accepts(op::conv2d_grad_x, I({2, 1, 1, 8, 8, digits}), {y, w}), fits) << digits;
    EXPECT_EQ(Accepts(op::conv2d_grad_w, I({2, 1, 1, 3, 3, digits}), {x, y}), fits) << digits;
    const Attrs attention{one, 0.5f, 0.0f, one, digits};
    EXPECT_EQ(Accepts(op::attention, attention, {q, q, q, rng}), fits) << digits;
    EXPECT_EQ(Accepts(op::attention_grad, attention, {q, q, q, q, lse, q, rng}), fits) << digits;
  }
}

TEST(Conv2d, Refuses) {
  const TensorType x = F32({2, 8, 8, 4}), w = F32({6, 3, 3, 4});
  EXPECT_TRUE(Accepts(op::conv2d, I({1, 1, 1}), {x, w}));
  EXPECT_FALSE(Accepts(op::conv2d, I({0, 1, 1}), {x, w}));
  EXPECT_FALSE(Accepts(op::conv2d, I({1, -1, 1}), {x, w}));
  EXPECT_FALSE(Accepts(op::conv2d, I({1, std::numeric_limits<std::int64_t>::max() / 2, 1}), {x, w}));
  EXPECT_FALSE(Accepts(op::conv2d, I({1, 1, 2}), {x, w}));
  EXPECT_FALSE(Accepts(op::conv2d, I({1, 1, 0}), {x, w}));
  EXPECT_FALSE(Accepts(op::conv2d, I({1, 1, 3}), {x, F32({6, 3, 3, 1})}));
  EXPECT_FALSE(Accepts(op::conv2d, I({1, 1, 2}), {x, F32({5, 3, 3, 2})}));
  EXPECT_FALSE(Accepts(op::conv2d, I({1, 0, 1}), {F32({2, 2, 8, 4}), w}));
  EXPECT_FALSE(Accepts(op::conv2d, I({1, 1, 1}), {F32({0, 8, 8, 4}), w}));
  EXPECT_TRUE(Accepts(op::conv2d_grad_x, I({2, 1, 1, 8, 8}), {F32({2, 4, 4, 6}), w}));
  EXPECT_FALSE(Accepts(op::conv2d_grad_x, I({2, 1, 1, 9, 8}), {F32({2, 4, 4, 6}), w}));
  EXPECT_FALSE(Accepts(op::conv2d_grad_x, I({2, 1, kHuge, 8, 8}), {F32({2, 4, 4, 6}), w}));
  EXPECT_TRUE(Accepts(op::conv2d_grad_w, I({2, 1, 1, 3, 3}), {x, F32({2, 4, 4, 6})}));
  EXPECT_FALSE(Accepts(op::conv2d_grad_w, I({2, 1, 1, 5, 3}), {x, F32({2, 4, 4, 6})}));
  EXPECT_FALSE(Accepts(op::conv2d_grad_w, I({2, 1, 0, 3, 3}), {x, F32({2, 4, 4, 6})}));
}

TEST(Layout, Refuses) {
  const TensorType x = F32({2, 3, 4});
  EXPECT_TRUE(Accepts(op::transpose, {Ints{2, 0, 1}}, {x}));
  EXPECT_FALSE(Accepts(op::transpose, {Ints{2, 0}}, {x}));
  EXPECT_FALSE(Accepts(op::transpose, {Ints{2, 0, 2}}, {x}));
  EXPECT_FALSE(Accepts(op::transpose, {Ints{3, 0, 1}}, {x}));
  EXPECT_FALSE(Accepts(op::transpose, {Ints{-1, 0, 1}}, {x}));
  EXPECT_TRUE(Accepts(op::slice, I({1, 1, 3}), {x}));
  EXPECT_FALSE(Accepts(op::slice, I({3, 0, 1}), {x}));
  EXPECT_FALSE(Accepts(op::slice, I({1, 1, 4}), {x}));
  EXPECT_FALSE(Accepts(op::slice, I({1, 2, 1}), {x}));
  EXPECT_FALSE(Accepts(op::slice, I({1, -1, 1}), {x}));
  EXPECT_FALSE(Accepts(op::slice, I({0, 0, 0}), {F32({})}));
  EXPECT_TRUE(Accepts(op::pad, I({2, 0, 5}), {x}));
  EXPECT_FALSE(Accepts(op::pad, I({2, -1, 5}), {x}));
  EXPECT_FALSE(Accepts(op::pad, I({2, 0, std::numeric_limits<std::int64_t>::max()}), {x}));
  EXPECT_FALSE(Accepts(op::pad, I({2, 0, std::int64_t{1} << 34}), {x}));
  EXPECT_TRUE(Accepts(op::concat, I({1}), {x, F32({2, 5, 4})}));
  EXPECT_FALSE(Accepts(op::concat, I({1}), {}));
  EXPECT_FALSE(Accepts(op::concat, I({1}), {x, F32({2, 5, 5})}));
  EXPECT_FALSE(Accepts(op::concat, I({1}), {x, F32({2, 12})}));
  EXPECT_FALSE(Accepts(op::concat, I({1}), {x, {DType::kI32, {2, 5, 4}}}));
}

TEST(Rope, Refuses) {
  const TensorType x = F32({1, 5, 2, 8});
  EXPECT_TRUE(Accepts(op::rope, {10000.0f, std::int64_t{3}, std::int64_t{0}}, {x}));
  EXPECT_FALSE(Accepts(op::rope, {10000.0f, std::int64_t{0}, std::int64_t{0}}, {F32({1, 5, 2, 7})}));
  EXPECT_FALSE(Accepts(op::rope, {0.0f, std::int64_t{0}, std::int64_t{0}}, {x}));
  EXPECT_FALSE(Accepts(op::rope, {std::numeric_limits<float>::infinity(), std::int64_t{0}, std::int64_t{0}}, {x}));
  EXPECT_FALSE(Accepts(op::rope, {10000.0f, std::int64_t{1} << 24, std::int64_t{0}}, {x}));
  EXPECT_FALSE(Accepts(op::rope, {10000.0f, std::int64_t{-1}, std::int64_t{0}}, {x}));
  EXPECT_FALSE(Accepts(op::rope, {10000.0f, std::int64_t{0}, std::int64_t{2}}, {x}));
}

Attrs AttentionAttrs(std::int64_t causal, float scale = 0.1f, float dropout = 0.0f, std::int64_t stream = 0) {
  return {causal, scale, dropout, stream};
}

TEST(Attention, Refuses) {
  const TensorType q = F32({2, 5, 4, 8}), k = F32({2, 7, 2, 8}), rng{DType::kU32, {4}}, lse = F32({2, 4, 5});
  EXPECT_TRUE(Accepts(op::attention, AttentionAttrs(1), {q, k, k, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1), {k, q, q, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1), {F32({2, 5, 3, 8}), k, k, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1), {F32({1, 5, 4, 8}), k, k, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1), {F32({2, 5, 4, 6}), k, k, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1), {q, k, F32({2, 7, 4, 8}), rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1), {q, F32({2, 4, 2, 8}), F32({2, 4, 2, 8}), rng}));
  EXPECT_TRUE(Accepts(op::attention, AttentionAttrs(0), {q, F32({2, 4, 2, 8}), F32({2, 4, 2, 8}), rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(0), {q, F32({2, 0, 2, 8}), F32({2, 0, 2, 8}), rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(0), {F32({1, 1, 1, 257}), F32({1, 1, 1, 257}), F32({1, 1, 1, 257}), rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(0),
                       {F32({1, 1 << 18, 1, 1}), F32({1, 1 << 18, 1, 1}), F32({1, 1 << 18, 1, 1}), rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(2), {q, k, k, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1, std::numeric_limits<float>::quiet_NaN()), {q, k, k, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1, 0.1f, 1.0f), {q, k, k, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1, 0.1f, -0.1f), {q, k, k, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1, 0.1f, 0.1f, 0x10000000), {q, k, k, rng}));
  EXPECT_FALSE(Accepts(op::attention, AttentionAttrs(1), {q, k, k, F32({4})}));
  EXPECT_TRUE(Accepts(op::attention_grad, AttentionAttrs(1), {q, k, k, q, lse, q, rng}));
  EXPECT_FALSE(Accepts(op::attention_grad, AttentionAttrs(1), {q, k, k, q, F32({2, 5, 4}), q, rng}));
  EXPECT_FALSE(Accepts(op::attention_grad, AttentionAttrs(1), {q, k, k, k, lse, q, rng}));
}

}  // namespace
}  // namespace assay
