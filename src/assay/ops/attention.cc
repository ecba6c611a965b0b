// attention, attention_grad: shape rules, gradient, dependencies.
#include <cmath>

#include "assay/ops/attention_cases.h"
#include "assay/ops/attention_geometry.h"
#include "assay/ops/define.h"
#include "assay/ops/digits.h"
#include "assay/ops/infer.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kAttrs[] = {{"causal", AttrKind::kInt},
                               {"scale", AttrKind::kFloat},
                               {"dropout", AttrKind::kFloat},
                               {"stream", AttrKind::kInt},
                               kDigits};

constexpr std::int64_t kMaxWidth = 256;
constexpr std::int64_t kMaxStream = 0x0fffffff;

// Inputs of attention_grad.
enum : int { kQ = 0, kK = 1, kV = 2, kO = 3, kLse = 4, kDo = 5, kGradRng = 6 };
constexpr int kRng = 3;  // of attention

Status Check(const Attrs& attrs, std::span<const TensorType> in, std::size_t rng) {
  ASSAY_TRY(ExpectF32Rank(in, kQ, 4));
  ASSAY_TRY(ExpectF32Rank(in, kK, 4));
  ASSAY_TRY(ExpectShape(in, kV, in[kK]));
  ASSAY_TRY(ExpectShape(in, rng, {DType::kU32, {4}}));
  const Shape& q = in[kQ].shape;
  const Shape& k = in[kK].shape;
  for (int axis = 0; axis < 4; ++axis) {
    if (q[axis] < 1 || k[axis] < 1) {
      return Err("expected extents of at least 1, got {} and {}", ToString(in[kQ]), ToString(in[kK]));
    }
  }
  if (q[0] != k[0] || q[3] != k[3] || q[2] % k[2] != 0) {
    return Err("expected equal batches and widths and heads in whole groups, got {} and {}", ToString(in[kQ]),
               ToString(in[kK]));
  }
  if (TooLarge({q[0], q[1], q[2], k[1]})) return Err("{} and {}: more than 2^34 pairs", ToString(in[kQ]), ToString(in[kK]));
  ASSAY_TRY(ExpectBetween("width", q[3], 1, kMaxWidth));
  ASSAY_TRY(ExpectFlag("causal", attrs.Int(0)));
  if (attrs.Int(0) != 0 && q[1] > k[1]) {
    return Err("causal: expected at least as many keys as queries, got {} and {}", ToString(in[kQ]), ToString(in[kK]));
  }
  if (!std::isfinite(attrs.Float(1))) return Err("scale: expected a number, got {}", attrs.Float(1));
  if (!(attrs.Float(2) >= 0 && attrs.Float(2) < 1)) return Err("dropout: expected 0 <= p < 1, got {}", attrs.Float(2));
  ASSAY_TRY(ExpectDigits(attrs, 4));
  return ExpectBetween("stream", attrs.Int(3), 0, kMaxStream);
}

Shape LseShape(const Shape& q) { return {q[0], q[2], q[1]}; }

Result<std::vector<TensorType>> Infer(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 4));
  ASSAY_TRY(Check(attrs, in, kRng));
  return OutputsF32({in[kQ].shape, LseShape(in[kQ].shape)});
}

Result<std::vector<TensorType>> InferGrad(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 7));
  ASSAY_TRY(Check(attrs, in, kGradRng));
  ASSAY_TRY(ExpectShape(in, kO, in[kQ]));
  ASSAY_TRY(ExpectShape(in, kLse, {DType::kF32, LseShape(in[kQ].shape)}));
  ASSAY_TRY(ExpectShape(in, kDo, in[kQ]));
  return OutputsF32({in[kQ].shape, in[kK].shape, in[kV].shape});
}

void Gradient(GradientBuilder& g) {
  const std::vector<ValueId> gradients =
      g.EmitAll(op::attention_grad, g.attrs(),
                {g.input(kQ), g.input(kK), g.input(kV), g.output(0), g.output(1), g.OutputGradientOrZero(0), g.input(kRng)});
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (g.Wants(k)) g.SetInputGradient(k, gradients[k]);
  }
}

AttentionGeometry GeometryOf(const OpInstance& op) { return GeometryOfAttention(op.attrs, op.in[kQ].shape, op.in[kK].shape); }

Cost CostFor(const OpInstance& op, double products) {
  const AttentionGeometry g = GeometryOf(op);
  const double per_query =
      g.causal ? static_cast<double>(g.tk) - 0.5 * static_cast<double>(g.tq - 1) : static_cast<double>(g.tk);
  const double pairs = static_cast<double>(g.batch * g.hq) * static_cast<double>(g.tq) * per_query;
  return {.flops = 2.0 * products * pairs * static_cast<double>(g.d), .bytes = TouchedBytes(op)};
}

// Rows [rows) x heads [heads) of one batch of a tensor [batch, t, h, d].
InputRange HeadRows(int input, std::int64_t b, Range rows, Range heads, std::int64_t t, std::int64_t h, std::int64_t d) {
  return {.input = input,
          .begin = ((b * t + rows.begin) * h + heads.begin) * d,
          .length = heads.size() * d,
          .stride = h * d,
          .repeat = rows.size()};
}

// Calls visit(batch, rows, heads) for boxes that cover elements `range` of a tensor [batch, t, h, d].
template <class F>
void ForEachBox(Range range, std::int64_t t, std::int64_t h, std::int64_t d, F visit) {
  if (range.size() <= 0) return;
  const std::int64_t last_row = (range.end - 1) / (h * d);
  for (std::int64_t row = range.begin / (h * d); row <= last_row;) {
    const std::int64_t b = row / t;
    const std::int64_t end = std::min(last_row + 1, (b + 1) * t);
    const bool one_row = range.begin / (h * d) == last_row;
    const Range heads = one_row ? Range{range.begin / d % h, (range.end - 1) / d % h + 1} : Range{0, h};
    visit(b, Range{row - b * t, end - b * t}, heads);
    row = end;
  }
}

Range KeyHeads(const AttentionGeometry& g, Range heads) { return {g.KeyHead(heads.begin), g.KeyHead(heads.end - 1) + 1}; }

InputRange QueryRows(const AttentionGeometry& g, int input, std::int64_t b, Range queries, Range heads) {
  return HeadRows(input, b, queries, heads, g.tq, g.hq, g.d);
}

InputRange KeyRows(const AttentionGeometry& g, int input, std::int64_t b, Range keys, Range key_heads) {
  return HeadRows(input, b, keys, key_heads, g.tk, g.hkv, g.d);
}

InputRange LseRows(const AttentionGeometry& g, std::int64_t b, Range queries, Range heads) {
  return {.input = kLse,
          .begin = g.Lse(b, heads.begin, queries.begin),
          .length = queries.size(),
          .stride = g.tq,
          .repeat = heads.size()};
}

std::vector<InputRange> Dependencies(const OpInstance& op, int output, Range range) {
  const AttentionGeometry g = GeometryOf(op);
  std::vector<InputRange> needed;
  if (output == 0) {
    ForEachBox(range, g.tq, g.hq, g.d, [&](std::int64_t b, Range queries, Range heads) {
      const Range keys{0, g.Visible(queries.end - 1)};
      needed.push_back(QueryRows(g, kQ, b, queries, heads));
      needed.push_back(KeyRows(g, kK, b, keys, KeyHeads(g, heads)));
      needed.push_back(KeyRows(g, kV, b, keys, KeyHeads(g, heads)));
    });
    if (g.dropout > 0 && range.size() > 0) needed.push_back(Whole(op, kRng));
    return needed;
  }
  for (std::int64_t i = range.begin; i < range.end;) {  // lse: one head at a time
    const std::int64_t h = i / g.tq % g.hq, b = i / (g.tq * g.hq);
    const std::int64_t end = std::min(range.end, (i / g.tq + 1) * g.tq);
    const Range queries{i % g.tq, i % g.tq + (end - i)};
    needed.push_back(QueryRows(g, kQ, b, queries, {h, h + 1}));
    needed.push_back(KeyRows(g, kK, b, {0, g.Visible(queries.end - 1)}, {g.KeyHead(h), g.KeyHead(h) + 1}));
    i = end;
  }
  return needed;
}

std::vector<InputRange> DependenciesGrad(const OpInstance& op, int output, Range range) {
  const AttentionGeometry g = GeometryOf(op);
  std::vector<InputRange> needed;
  const auto pairs = [&](std::int64_t b, Range queries, Range heads, Range keys, Range key_heads) {
    for (int input : {kQ, kO, kDo}) needed.push_back(QueryRows(g, input, b, queries, heads));
    needed.push_back(LseRows(g, b, queries, heads));
    for (int input : {kK, kV}) needed.push_back(KeyRows(g, input, b, keys, key_heads));
  };
  if (output == 0) {
    ForEachBox(range, g.tq, g.hq, g.d, [&](std::int64_t b, Range queries, Range heads) {
      pairs(b, queries, heads, {0, g.Visible(queries.end - 1)}, KeyHeads(g, heads));
    });
  } else {
    ForEachBox(range, g.tk, g.hkv, g.d, [&](std::int64_t b, Range keys, Range key_heads) {
      pairs(b, {g.FirstQuery(keys.begin), g.tq}, {key_heads.begin * g.group(), key_heads.end * g.group()}, keys, key_heads);
    });
  }
  if (g.dropout > 0 && range.size() > 0) needed.push_back(Whole(op, kGradRng));
  return needed;
}

}  // namespace

OpDef Define_attention() {
  OpDef def;
  def.attrs = kAttrs;
  def.infer = Infer;
  def.gradient = Gradient;
  def.cost = [](const OpInstance& op) { return CostFor(op, 2); };
  def.dependencies = Dependencies;
  def.cases = AttentionCases;
  return def;
}

OpDef Define_attention_grad() {
  OpDef def;
  def.attrs = kAttrs;
  def.infer = InferGrad;
  def.cost = [](const OpInstance& op) { return CostFor(op, 5); };
  def.dependencies = DependenciesGrad;
  def.cases = AttentionGradCases;
  return def;
}

}  // namespace assay::ops
