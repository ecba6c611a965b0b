// attention_grad: chains over the keys that a query sees, or over the queries that see a key.
#include "assay/numerics/fma.h"
#include "assay/semantics/ref/attention_pairs.h"
#include "assay/semantics/ref/derive_attention.h"
#include "assay/semantics/ref/derive_fold.h"
#include "assay/semantics/ref/derive_ops.h"

namespace assay::ref::derive {
namespace {

constexpr int kQ = 0, kK = 1, kV = 2, kO = 3, kLse = 4, kDo = 5, kRng = 6;
// Each brings three rows, and a row may lie in two leaves.
constexpr std::int64_t kPairsAtOnce = 4;

using Geometry = ops::AttentionGeometry;

void NeedQueryRow(const Geometry& g, int input, std::int64_t b, std::int64_t h, std::int64_t i, NeedList& needs) {
  needs.Add(input, g.QueryRow(b, i, h), g.d);
}

// The probability of a pair.
void NeedProbability(const Geometry& g, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, NeedList& needs) {
  NeedQueryRow(g, kQ, b, h, i, needs);
  NeedKeyRows(g, kK, b, h, {j, j + 1}, needs);
  needs.Add(kLse, g.Lse(b, h, i));
  if (g.dropout > 0) needs.Add(kRng, 0, 4);
}

// The gradient of its score.
void NeedScoreGradient(const Geometry& g, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, NeedList& needs) {
  NeedProbability(g, b, h, i, j, needs);
  NeedQueryRow(g, kO, b, h, i, needs);
  NeedQueryRow(g, kDo, b, h, i, needs);
  NeedKeyRows(g, kV, b, h, {j, j + 1}, needs);
}

struct QueryGradient {
  const OpInstance* op;
  Geometry g;
  std::int64_t b, h, i, d;

  void Need(Range keys, NeedList& needs) const {
    for (std::int64_t j = keys.begin; j < keys.end; ++j) NeedScoreGradient(g, b, h, i, j, needs);
  }
  Value Run(Value start, Range keys, Inputs in) const {
    const Pairs pairs(KernelArgs{op, in.all(), {}});
    const float delta = pairs.Delta(b, h, i);
    float acc = Float(start);
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      acc = numerics::Fma(pairs.ScoreGradient(b, h, i, j, delta), pairs.a.Key(b, h, j)[d], acc);
    }
    return Bits(acc);
  }
};

// Step t is query FirstQuery + t mod n of head t div n of the key head's group, n being the number of queries that see the key.
struct KeyGradient {
  const OpInstance* op;
  Geometry g;
  std::int64_t b, j, key_head, d;
  bool of_value;

  std::int64_t queries() const { return g.tq - g.FirstQuery(j); }
  std::int64_t Head(std::int64_t t) const { return key_head * g.group() + t / queries(); }
  std::int64_t Query(std::int64_t t) const { return g.FirstQuery(j) + t % queries(); }

  void Need(Range steps, NeedList& needs) const {
    for (std::int64_t t = steps.begin; t < steps.end; ++t) {
      const std::int64_t h = Head(t), i = Query(t);
      if (of_value) {
        NeedProbability(g, b, h, i, j, needs);
        needs.Add(kDo, g.QueryRow(b, i, h) + d);
      } else {
        NeedScoreGradient(g, b, h, i, j, needs);
      }
    }
  }
  Value Run(Value start, Range steps, Inputs in) const {
    const Pairs pairs(KernelArgs{op, in.all(), {}});
    float acc = Float(start);
    for (std::int64_t t = steps.begin; t < steps.end; ++t) {
      const std::int64_t h = Head(t), i = Query(t);
      if (of_value) {
        const float p = pairs.a.Dropped(pairs.Probability(b, h, i, j), b, h, i, j);
        acc = numerics::Fma(p, pairs.OutputGradient(b, h, i)[d], acc);
      } else {
        acc = numerics::Fma(pairs.ScoreGradient(b, h, i, j, pairs.Delta(b, h, i)), pairs.a.Query(b, h, i)[d], acc);
      }
    }
    return Bits(acc);
  }
};

}  // namespace

NodePtr Derive_attention_grad(const OpInstance& op, int output, std::int64_t element) {
  const Geometry g = ops::GeometryOfAttention(op.attrs, op.in[kQ].shape, op.in[kK].shape);
  const std::int64_t row = element / g.d, d = element % g.d;
  if (output == 0) {
    const QueryGradient terms{&op, g, row / (g.hq * g.tq), row % g.hq, row / g.hq % g.tq, d};
    return MakeFold(terms, Bits(0.0f), {0, g.Visible(terms.i)}, kPairsAtOnce);
  }
  const KeyGradient terms{&op, g, row / (g.hkv * g.tk), row / g.hkv % g.tk, row % g.hkv, d, output == 2};
  return MakeFold(terms, Bits(0.0f), {0, g.group() * terms.queries()}, kPairsAtOnce);
}

}  // namespace assay::ref::derive
