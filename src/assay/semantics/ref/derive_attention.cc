// attention: the running maximum, sum and output after each block of keys (docs/NUMERICS.md).
#include <limits>

#include "assay/numerics/fma.h"
#include "assay/semantics/ref/attention_pairs.h"
#include "assay/semantics/ref/derive_attention.h"
#include "assay/semantics/ref/derive_digits.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_state.h"
#include "assay/semantics/ref/derive_sums.h"

namespace assay::ref::derive {
namespace {

constexpr int kQ = 0, kK = 1, kV = 2, kRng = 3;
// A row of width 256 or less may lie in two leaves.
constexpr std::int64_t kKeysAtOnce = 8;

// One query of one head.
struct Asker {
  const OpInstance* op;
  ops::AttentionGeometry g;
  int digits;  // 0: none
  std::int64_t b, h, i;

  Attention Use(Inputs in) const { return {KernelArgs{op, in.all(), {}}, kRng}; }
  float Score(const Attention& a, std::int64_t j) const { return a.Score(b, h, i, j); }
  float Probability(const Attention& a, std::int64_t j, float max) const {
    return numerics::Exp<numerics::Scalar>(Score(a, j) - max);
  }
  void NeedScores(Range keys, NeedList& needs) const {
    needs.Add(kQ, g.QueryRow(b, i, h), g.d);
    NeedKeyRows(g, kK, b, h, keys, needs);
  }
};

struct ScoreMax {
  Asker asker;
  void Need(Range keys, NeedList& needs) const { asker.NeedScores(keys, needs); }
  Value Run(Value start, Range keys, Inputs in) const {
    const Attention a = asker.Use(in);
    float m = Float(start);
    for (std::int64_t j = keys.begin; j < keys.end; ++j) m = numerics::Max(m, asker.Score(a, j));
    return Bits(m);
  }
};

// The probabilities of a lane of a block: of keys `first` and, if it is visible, first + 32.
struct LaneSum {
  Asker asker;
  std::int64_t first;
  float max;
  std::int64_t Key(std::int64_t step) const { return first + step * numerics::kRowLanes; }
  void Need(Range steps, NeedList& needs) const {
    for (std::int64_t s = steps.begin; s < steps.end; ++s) asker.NeedScores({Key(s), Key(s) + 1}, needs);
  }
  float Step(float acc, std::int64_t step, Inputs in) const { return acc + asker.Probability(asker.Use(in), Key(step), max); }
};

struct WeightedValues {
  Asker asker;
  std::int64_t d;
  float max;
  void Need(Range keys, NeedList& needs) const {
    asker.NeedScores(keys, needs);
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      needs.Add(kV, asker.g.KeyRow(asker.b, j, asker.g.KeyHead(asker.h)) + d);
    }
    if (asker.g.dropout > 0) needs.Add(kRng, 0, 4);
  }
  Value Run(Value start, Range keys, Inputs in) const {
    const Attention a = asker.Use(in);
    float sum = Float(start);
    for (std::int64_t j = keys.begin; j < keys.end; ++j) {
      const float p = asker.Probability(a, j, max);
      sum = numerics::Fma(a.Dropped(p, asker.b, asker.h, asker.i, j), a.Value(asker.b, asker.h, j)[d], sum);
    }
    return Bits(sum);
  }
};

enum Component : std::size_t { kMax = 0, kSum = 1, kOutput = 2 };

class KeyBlocks final : public Recurrence {
 public:
  KeyBlocks(const Asker& asker, std::int64_t d) : asker_(asker), d_(d) {}

  std::uint32_t Uses(std::size_t component) const override {
    return component == kMax ? 0b001 : component == kSum ? 0b011 : 0b101;
  }
  NodePtr Block(std::size_t component, std::int64_t block, const State& before, const State& after) const override {
    const Range keys{block * kKeyBlock, std::min((block + 1) * kKeyBlock, asker_.g.Visible(asker_.i))};
    if (component == kMax) return MakeFold(ScoreMax{asker_}, before[kMax], keys, kKeysAtOnce);
    const float max = Float(after[kMax]);
    const float alpha = numerics::Exp<numerics::Scalar>(Float(before[kMax]) - max);
    if (component == kOutput && asker_.digits != 0) return OutputByDigits(keys, max, Float(before[kOutput]) * alpha);
    if (component == kOutput) {
      return MakeFold(WeightedValues{asker_, d_, max}, Bits(Float(before[kOutput]) * alpha), keys, kKeysAtOnce);
    }
    return BlockSum(keys, max, alpha, Float(before[kSum]));
  }

 private:
  // o after the block, from o · alpha before it.
  NodePtr OutputByDigits(Range keys, float max, float before) const {
    const auto weight = [asker = asker_, max, keys](std::int64_t k) {
      const std::int64_t j = keys.begin + k;
      NeedList needs;
      asker.NeedScores({j, j + 1}, needs);
      NeedKeyRows(asker.g, kV, asker.b, asker.h, {j, j + 1}, needs);
      if (asker.g.dropout > 0) needs.Add(kRng, 0, 4);
      return MakeFormula({.parts = {}, .needs = std::move(needs.ranges()), .rule = [=](Values, Inputs in) {
                            const Attention a = asker.Use(in);
                            const float p = a.Dropped(asker.Probability(a, j, max), asker.b, asker.h, asker.i, j);
                            return Bits(p * a.ValueDigits(asker.b, asker.h, j).scales[0]);
                          }});
    };
    const auto begin = [asker = asker_, keys](std::int64_t k) {
      return asker.g.KeyRow(asker.b, keys.begin + k, asker.g.KeyHead(asker.h));
    };
    return MakeWeightedBlock({asker_.digits, keys.size(), weight, kV, begin, asker_.g.d, d_, before});
  }

  // l after the block: of the 32 lanes of rowsum.
  NodePtr BlockSum(Range keys, float max, float alpha, float before) const {
    Formula::Spec spec;
    for (std::int64_t lane = 0; lane < std::min(numerics::kRowLanes, keys.size()); ++lane) {
      const LaneSum terms{asker_, keys.begin + lane, max};
      const Range steps{0, CeilDiv(keys.size() - lane, numerics::kRowLanes)};
      spec.parts.push_back([=](Values) { return MakeFold(Chain<LaneSum>{terms}, Bits(0.0f), steps, kKeysAtOnce); });
    }
    spec.rule = [=](Values parts, Inputs) {
      std::array<float, numerics::kRowLanes> lanes{};
      for (std::size_t l = 0; l < parts.size(); ++l) lanes[l] = Float(parts[l]);
      return Bits(numerics::Fma(before, alpha, numerics::CombineLanes(lanes)));
    };
    return MakeFormula(std::move(spec));
  }

  Asker asker_;
  std::int64_t d_;
};

}  // namespace

NodePtr Derive_attention(const OpInstance& op, int output, std::int64_t element) {
  const ops::AttentionGeometry g = ops::GeometryOfAttention(op.attrs, op.in[kQ].shape, op.in[kK].shape);
  const State start{Bits(-std::numeric_limits<float>::infinity()), Bits(0.0f), Bits(0.0f)};
  if (output == 0) {
    const std::int64_t row = element / g.d;
    const Asker asker{&op, g, ops::DigitsOf(op), row / (g.hq * g.tq), row % g.hq, row / g.hq % g.tq};
    return std::make_unique<StateNode>(std::make_shared<KeyBlocks>(asker, element % g.d), 0b111,
                                       Range{0, CeilDiv(g.Visible(asker.i), kKeyBlock)}, start,
                                       [](const State& last) { return Bits(Float(last[kOutput]) / Float(last[kSum])); });
  }
  const Asker asker{&op, g, ops::DigitsOf(op), element / (g.tq * g.hq), element / g.tq % g.hq, element % g.tq};
  return std::make_unique<StateNode>(
      std::make_shared<KeyBlocks>(asker, 0), 0b011, Range{0, CeilDiv(g.Visible(asker.i), kKeyBlock)}, start,
      [](const State& last) { return Bits(Float(last[kMax]) + numerics::Log<numerics::Scalar>(Float(last[kSum]))); });
}

}  // namespace assay::ref::derive
