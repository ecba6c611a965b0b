// rope: shape rule, gradient (the inverse rotation), dependencies, cases.
#include <cmath>

#include "assay/ops/define.h"
#include "assay/ops/infer.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kAttrs[] = {{"base", AttrKind::kFloat}, {"offset", AttrKind::kInt}, {"inverse", AttrKind::kInt}};

// Beyond it a position is no longer exact in binary32.
constexpr std::int64_t kMaxPosition = std::int64_t{1} << 24;

Result<std::vector<TensorType>> Infer(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 1));
  ASSAY_TRY(ExpectF32Rank(in, 0, 4));
  const Shape& x = in[0].shape;
  if (x[3] < 2 || x[3] % 2 != 0 || x[3] > kMaxPosition) {
    return Err("input 0: expected an even last extent, got {}", ToString(in[0]));
  }
  if (!std::isfinite(attrs.Float(0)) || attrs.Float(0) <= 0) {
    return Err("base: expected a positive number, got {}", attrs.Float(0));
  }
  ASSAY_TRY(ExpectBetween("time", x[1], 0, kMaxPosition));
  ASSAY_TRY(ExpectBetween("offset", attrs.Int(1), 0, kMaxPosition - x[1]));
  ASSAY_TRY(ExpectFlag("inverse", attrs.Int(2)));
  return OutputsF32({x});
}

void Gradient(GradientBuilder& g) {
  const Attrs& attrs = g.attrs();
  g.SetInputGradient(0, g.Emit(op::rope, {attrs.Float(0), attrs.Int(1), 1 - attrs.Int(2)}, {g.OutputGradientOrZero(0)}));
}

Cost CostOf(const OpInstance& op) {
  return {.flops = 3.0 * static_cast<double>(op.out[0].elements()), .bytes = TouchedBytes(op)};
}

std::vector<InputRange> Dependencies(const OpInstance& op, int, Range range) {
  if (range.size() <= 0) return {};
  const std::int64_t width = op.in[0].shape[3];
  const std::int64_t begin = range.begin / width * width;
  const std::int64_t length = ((range.end - 1) / width + 1) * width - begin;
  return {{.input = 0, .begin = begin, .length = length, .stride = length, .repeat = 1}};
}

std::vector<OpCase> Cases() {
  const auto make = [](const char* name, Shape shape, float base, std::int64_t offset, std::int64_t inverse,
                       Fill fill = Fill::kNormal, bool gradient = false) {
    return OpCase{
        .name = name, .attrs = {base, offset, inverse}, .in = {{DType::kF32, shape}}, .fill = {fill}, .gradient = gradient};
  };
  return {
      make("pair", {1, 1, 1, 2}, 10000.0f, 0, 0),
      make("empty", {2, 0, 3, 4}, 10000.0f, 0, 0),
      make("narrow", {2, 5, 3, 6}, 10000.0f, 0, 0),
      make("d64", {2, 17, 3, 64}, 10000.0f, 0, 0),
      make("d128_inverse", {1, 9, 2, 128}, 500000.0f, 0, 1),
      make("tails", {2, 7, 5, 46}, 10000.0f, 3, 0),
      make("far", {1, 3, 1, 32}, 10000.0f, 16777000, 0),
      make("small_base", {1, 20, 2, 34}, 0.5f, 7, 1),
      make("special", {1, 8, 2, 40}, 10000.0f, 1, 0, Fill::kSpecial),
      make("grad", {1, 3, 2, 4}, 10000.0f, 1, 0, Fill::kNormal, true),
      make("grad_inverse", {2, 2, 1, 6}, 100.0f, 0, 1, Fill::kNormal, true),
  };
}

}  // namespace

OpDef Define_rope() {
  OpDef def;
  def.attrs = kAttrs;
  def.infer = Infer;
  def.gradient = Gradient;
  def.cost = CostOf;
  def.dependencies = Dependencies;
  def.cases = Cases;
  return def;
}

}  // namespace assay::ops
