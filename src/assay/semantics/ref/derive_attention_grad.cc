// attention_grad: chains over the keys that a query sees, or over the queries that see a key; by digits, totals after blocks of them.
#include <optional>

#include "assay/numerics/fma.h"
#include "assay/semantics/ref/attention_pairs.h"
#include "assay/semantics/ref/derive_attention.h"
#include "assay/semantics/ref/derive_digits.h"
#include "assay/semantics/ref/derive_fold.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_state.h"

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

// By digits: one total carried through blocks of positions, each with the weights of its visible pairs.
class PairBlocks final : public Recurrence {
 public:
  // dq, or dk or dv.
  PairBlocks(const QueryGradient& of, int digits) : digits_(digits), query_(of) {}
  PairBlocks(const KeyGradient& of, int digits) : digits_(digits), key_(of) {}

  std::int64_t count() const {
    return query_ ? CeilDiv(query_->g.Visible(query_->i), kKeyBlock) : key_->g.group() * per_head();
  }

  std::uint32_t Uses(std::size_t) const override { return 1; }
  NodePtr Block(std::size_t, std::int64_t block, const State& before, const State&) const override {
    return MakeWeightedBlock(query_ ? KeysOf(*query_, block, Float(before[0])) : QueriesOf(*key_, block, Float(before[0])));
  }

 private:
  std::int64_t per_head() const { return CeilDiv(key_->g.tq, kKeyBlock) - key_->g.FirstQuery(key_->j) / kKeyBlock; }

  WeightedBlock KeysOf(const QueryGradient& of, std::int64_t block, float before) const {
    const Geometry& g = of.g;
    const Range keys{block * kKeyBlock, std::min((block + 1) * kKeyBlock, g.Visible(of.i))};
    const auto weight = [of, keys](std::int64_t k) {
      const std::int64_t j = keys.begin + k;
      NeedList needs;
      NeedScoreGradient(of.g, of.b, of.h, of.i, j, needs);
      return MakeFormula({.parts = {}, .needs = std::move(needs.ranges()), .rule = [=](Values, Inputs in) {
                            const Pairs pairs(KernelArgs{of.op, in.all(), {}});
                            const float ds = pairs.ScoreGradient(of.b, of.h, of.i, j, pairs.Delta(of.b, of.h, of.i));
                            return Bits(ds * pairs.a.KeyDigits(of.b, of.h, j).scales[0]);
                          }});
    };
    const auto begin = [of, keys](std::int64_t k) { return of.g.KeyRow(of.b, keys.begin + k, of.g.KeyHead(of.h)); };
    return {digits_, keys.size(), weight, kK, begin, g.d, of.d, before};
  }

  WeightedBlock QueriesOf(const KeyGradient& of, std::int64_t block, float before) const {
    const Geometry& g = of.g;
    const std::int64_t h = of.key_head * g.group() + block / per_head(), first = g.FirstQuery(of.j);
    const std::int64_t number = first / kKeyBlock + block % per_head();
    const Range queries{std::max(first, number * kKeyBlock), std::min((number + 1) * kKeyBlock, g.tq)};
    const auto weight = [of, h, queries](std::int64_t k) {
      const std::int64_t i = queries.begin + k;
      NeedList needs;
      if (of.of_value) {
        NeedProbability(of.g, of.b, h, i, of.j, needs);
        NeedQueryRow(of.g, kDo, of.b, h, i, needs);
      } else {
        NeedScoreGradient(of.g, of.b, h, i, of.j, needs);
      }
      return MakeFormula({.parts = {}, .needs = std::move(needs.ranges()), .rule = [=](Values, Inputs in) {
                            const Pairs pairs(KernelArgs{of.op, in.all(), {}});
                            const DigitLine& row =
                                of.of_value ? pairs.OutputGradientDigits(of.b, h, i) : pairs.a.QueryDigits(of.b, h, i);
                            return Bits(pairs.Weight(of.of_value, of.b, h, i, of.j) * row.scales[0]);
                          }});
    };
    const auto begin = [of, h, queries](std::int64_t k) { return of.g.QueryRow(of.b, queries.begin + k, h); };
    return {digits_, queries.size(), weight, of.of_value ? kDo : kQ, begin, g.d, of.d, before};
  }

  int digits_;
  std::optional<QueryGradient> query_;
  std::optional<KeyGradient> key_;
};

NodePtr MakeBlocks(std::shared_ptr<const PairBlocks> blocks) {
  const Range all{0, blocks->count()};
  return std::make_unique<StateNode>(std::move(blocks), 1, all, State{}, [](const State& last) { return last[0]; });
}

}  // namespace

NodePtr Derive_attention_grad(const OpInstance& op, int output, std::int64_t element) {
  const Geometry g = ops::GeometryOfAttention(op.attrs, op.in[kQ].shape, op.in[kK].shape);
  const std::int64_t row = element / g.d, d = element % g.d;
  const int digits = ops::DigitsOf(op);
  if (output == 0) {
    const QueryGradient terms{&op, g, row / (g.hq * g.tq), row % g.hq, row / g.hq % g.tq, d};
    if (digits != 0) return MakeBlocks(std::make_shared<PairBlocks>(terms, digits));
    return MakeFold(terms, Bits(0.0f), {0, g.Visible(terms.i)}, kPairsAtOnce);
  }
  const KeyGradient terms{&op, g, row / (g.hkv * g.tk), row / g.hkv % g.tk, row % g.hkv, d, output == 2};
  if (digits != 0) return MakeBlocks(std::make_shared<PairBlocks>(terms, digits));
  return MakeFold(terms, Bits(0.0f), {0, g.group() * terms.queries()}, kPairsAtOnce);
}

}  // namespace assay::ref::derive
