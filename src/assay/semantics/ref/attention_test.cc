// attention against its definition: a softmax in double, and nothing hidden ever reaches a result.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "assay/ops/attention_geometry.h"
#include "assay/ops/table.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {
namespace {

struct Extents {
  std::int64_t batch, tq, tk, hq, hkv, d;
  bool causal;

  Shape query_shape() const { return {batch, tq, hq, d}; }
  Shape key_shape() const { return {batch, tk, hkv, d}; }
  Attrs attrs() const { return {std::int64_t{causal}, 0.3f, 0.0f, std::int64_t{0}}; }
  ops::AttentionGeometry geometry() const { return ops::GeometryOfAttention(attrs(), query_shape(), key_shape()); }
};

Tensor Drawn(Shape shape, std::uint32_t seed) {
  Tensor t(DType::kF32, shape);
  for (float& x : t.Span<float>()) {
    seed = seed * 1664525u + 1013904223u;
    x = static_cast<float>(seed >> 8) * 0x1p-23f - 1.0f;
  }
  return t;
}

std::vector<Tensor> Run(OpIndex op, const Attrs& attrs, std::vector<const Tensor*> inputs) {
  OpInstance instance{.def = &Ops()[op], .attrs = attrs, .in = {}, .out = {}};
  std::vector<const void*> in;
  for (const Tensor* t : inputs) {
    instance.in.push_back(t->type());
    in.push_back(t->data());
  }
  auto types = instance.def->infer(attrs, instance.in);
  EXPECT_TRUE(types.has_value());
  instance.out = *types;
  std::vector<Tensor> outputs;
  std::vector<void*> out;
  for (const TensorType& type : instance.out) {
    outputs.emplace_back(type);
    out.push_back(outputs.back().data());
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    Compute(op, {&instance, in, out}, static_cast<int>(k), {0, outputs[k].elements()});
  }
  return outputs;
}

struct Case {
  explicit Case(const Extents& s)
      : extents(s),
        q(Drawn(s.query_shape(), 1)),
        k(Drawn(s.key_shape(), 2)),
        v(Drawn(s.key_shape(), 3)),
        rng(DType::kU32, {4}) {}

  std::vector<Tensor> Forward() const { return Run(op::attention, extents.attrs(), {&q, &k, &v, &rng}); }
  std::vector<Tensor> Backward(const Tensor& d_o) const {
    const std::vector<Tensor> forward = Forward();
    return Run(op::attention_grad, extents.attrs(), {&q, &k, &v, &forward[0], &forward[1], &d_o, &rng});
  }

  Extents extents;
  Tensor q, k, v, rng;
};

// Softmax over the whole row at once, in double.
std::vector<double> NaiveRow(const Case& c, std::int64_t b, std::int64_t h, std::int64_t i, double& lse) {
  const ops::AttentionGeometry g = c.extents.geometry();
  const float* q = c.q.Span<float>().data() + g.QueryRow(b, i, h);
  std::vector<double> p, o(static_cast<std::size_t>(g.d), 0.0);
  double sum = 0;
  for (std::int64_t j = 0; j < g.Visible(i); ++j) {
    const float* k = c.k.Span<float>().data() + g.KeyRow(b, j, g.KeyHead(h));
    double s = 0;
    for (std::int64_t d = 0; d < g.d; ++d) s += static_cast<double>(q[d]) * static_cast<double>(k[d]);
    p.push_back(std::exp(s * static_cast<double>(g.scale)));
    sum += p.back();
  }
  for (std::int64_t j = 0; j < g.Visible(i); ++j) {
    const float* v = c.v.Span<float>().data() + g.KeyRow(b, j, g.KeyHead(h));
    for (std::int64_t d = 0; d < g.d; ++d) {
      o[static_cast<std::size_t>(d)] += p[static_cast<std::size_t>(j)] / sum * static_cast<double>(v[d]);
    }
  }
  lse = std::log(sum);
  return o;
}

TEST(Attention, IsASoftmaxOfScoresTimesValues) {
  for (const Extents& s :
       {Extents{2, 130, 130, 4, 2, 33, true}, Extents{1, 70, 140, 2, 2, 64, true}, Extents{1, 65, 129, 3, 1, 8, false}}) {
    const Case c(s);
    const std::vector<Tensor> outputs = c.Forward();
    const ops::AttentionGeometry g = s.geometry();
    for (std::int64_t row = 0; row < g.batch * g.hq * g.tq; ++row) {
      const std::int64_t i = row % g.tq, h = row / g.tq % g.hq, b = row / (g.tq * g.hq);
      double lse = 0;
      const std::vector<double> expected = NaiveRow(c, b, h, i, lse);
      const float* o = outputs[0].Span<float>().data() + g.QueryRow(b, i, h);
      for (std::size_t d = 0; d < expected.size(); ++d) ASSERT_NEAR(o[d], expected[d], 1e-5) << "query " << i << " head " << h;
      ASSERT_NEAR(outputs[1].Span<float>()[static_cast<std::size_t>(row)], lse, 1e-5);
    }
  }
}

// Everything at or after position `from` becomes NaN.
void PoisonTail(Tensor& t, std::int64_t from) {
  const Shape& shape = t.shape();
  const std::int64_t row = shape[2] * shape[3];
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    if (i / row % shape[1] >= from) t.Span<float>()[static_cast<std::size_t>(i)] = std::numeric_limits<float>::quiet_NaN();
  }
}

bool SameHead(const Tensor& a, const Tensor& b, std::int64_t batch, std::int64_t positions) {
  const std::int64_t row = a.shape()[2] * a.shape()[3], size = a.shape()[1] * row;
  const float* pa = a.Span<float>().data() + batch * size;
  const float* pb = b.Span<float>().data() + batch * size;
  return std::memcmp(pa, pb, static_cast<std::size_t>(positions * row) * sizeof(float)) == 0;
}

TEST(Attention, FutureTokensNeverReachThePast) {
  const Extents s{2, 100, 100, 2, 1, 20, true};
  const Case clean(s);
  const std::vector<Tensor> expected = clean.Forward();
  for (const std::int64_t from : {1, 37, 63, 64, 65, 99}) {
    Case poisoned(s);
    for (Tensor* t : {&poisoned.q, &poisoned.k, &poisoned.v}) PoisonTail(*t, from);
    const std::vector<Tensor> outputs = poisoned.Forward();
    for (std::int64_t b = 0; b < s.batch; ++b) EXPECT_TRUE(SameHead(outputs[0], expected[0], b, from)) << "position " << from;
    EXPECT_TRUE(std::isnan(outputs[0].Span<float>()[static_cast<std::size_t>(from * s.hq * s.d)]));
  }
}

TEST(AttentionGrad, FutureTokensNeverReachPastQueries) {
  const Extents s{1, 70, 70, 2, 2, 12, true};
  const Tensor d_o = Drawn(s.query_shape(), 9);
  const std::vector<Tensor> expected = Case(s).Backward(d_o);
  Case poisoned(s);
  for (Tensor* t : {&poisoned.q, &poisoned.k, &poisoned.v}) PoisonTail(*t, 40);
  EXPECT_TRUE(SameHead(poisoned.Backward(d_o)[0], expected[0], 0, 40));
}

TEST(AttentionGrad, PastQueriesNeverReachFutureKeys) {
  const Extents s{1, 70, 70, 2, 1, 12, true};
  const std::int64_t row = s.hkv * s.d, from = 50;
  Tensor d_o = Drawn(s.query_shape(), 9);
  const std::vector<Tensor> expected = Case(s).Backward(d_o);
  std::fill_n(d_o.Span<float>().data(), from * s.hq * s.d, std::numeric_limits<float>::infinity());
  const std::vector<Tensor> outputs = Case(s).Backward(d_o);
  for (const std::size_t k : {1u, 2u}) {
    const std::size_t bytes = static_cast<std::size_t>((s.tk - from) * row) * sizeof(float);
    EXPECT_EQ(std::memcmp(outputs[k].Span<float>().data() + from * row, expected[k].Span<float>().data() + from * row, bytes),
              0);
  }
}

}  // namespace
}  // namespace assay::ref
