// Rules of constants and arithmetic: fill add sub mul div neg scale add_scalar maximum, and of reshape, which copies.
#include <bit>

#include "assay/ops/builder.h"
#include "assay/ops/define.h"
#include "assay/ops/elementwise.h"
#include "assay/ops/rules.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kFill[] = {{"shape", AttrKind::kInts}, {"value", AttrKind::kFloat}};
constexpr AttrSpec kFactor[] = {{"factor", AttrKind::kFloat}};
constexpr AttrSpec kTerm[] = {{"term", AttrKind::kFloat}};
constexpr AttrSpec kShape[] = {{"shape", AttrKind::kInts}};

Result<std::vector<TensorType>> InferFill(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 0));
  ASSAY_ASSIGN(const Shape shape, ShapeFrom(attrs.Ints(0)));
  return std::vector{F32(shape)};
}

Result<std::vector<TensorType>> InferReshape(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(InferUnary({}, in));
  ASSAY_ASSIGN(const Shape shape, ShapeFrom(attrs.Ints(0)));
  if (shape.elements() != in[0].elements()) {
    return Err("shape: expected {} elements, got {}", in[0].elements(), ToString(shape));
  }
  return std::vector{F32(shape)};
}

std::vector<InputRange> NeedsNothing(const OpInstance&, int, Range) { return {}; }

std::vector<OpCase> FillCases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, std::vector<std::int64_t> shape, float value) {
    cases.push_back({.name = std::move(name), .attrs = {std::move(shape), value}});
  };
  add("scalar", {}, 1.0f);
  add("empty", {0, 3}, 1.0f);
  add("matrix", {17, 1025}, -0.0f);
  add("threads", {70000}, 0.1f);
  add("nan", {33}, std::bit_cast<float>(0xffc12345u));
  add("denormal", {15}, 0x1p-149f);
  return cases;
}

std::vector<OpCase> ReshapeCases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, Shape from, std::vector<std::int64_t> to, Fill fill, bool gradient) {
    cases.push_back(
        {.name = std::move(name), .attrs = {std::move(to)}, .in = {F32(from)}, .fill = {fill}, .gradient = gradient});
  };
  add("flatten", {2, 3, 4}, {24}, Fill::kNormal, true);
  add("split", {24}, {2, 12}, Fill::kNormal, true);
  add("to_scalar", {1, 1}, {}, Fill::kNormal, false);
  add("from_scalar", {}, {1}, Fill::kNormal, false);
  add("empty", {0, 5}, {7, 0}, Fill::kNormal, false);
  add("special", {1025, 7}, {7, 1025}, Fill::kSpecial, false);
  return cases;
}

// Cases for several values of one float attribute; the first is the one whose gradient is checked.
template <class... Values>
std::vector<OpCase> AttributeCases(float first, Values... others) {
  std::vector<OpCase> cases = ElementCases(1, {first}, Fill::kNormal, true);
  for (float value : {others...}) {
    cases.push_back({.name = fmt::format("by_{}", value), .attrs = {value}, .in = {F32({333})}, .fill = {Fill::kSpecial}});
  }
  return cases;
}

std::vector<OpCase> ScaleCases() { return AttributeCases(0.3f, -1.0f, 0.0f, 1e-40f, 3e38f); }
std::vector<OpCase> AddScalarCases() { return AttributeCases(0.3f, -0.0f, 1e-45f, 3e38f); }
std::vector<OpCase> BinaryCases() { return ElementCases(2, {}, Fill::kNormal, true); }
std::vector<OpCase> DivCases() { return ElementCases(2, {}, Fill::kPositive, true); }
std::vector<OpCase> UnaryCases() { return ElementCases(1, {}, Fill::kNormal, true); }

void GradientAdd(GradientBuilder& g) {
  const ValueId dy = g.OutputGradientOrZero(0);
  if (g.Wants(0)) g.SetInputGradient(0, dy);
  if (g.Wants(1)) g.SetInputGradient(1, dy);
}

void GradientSub(GradientBuilder& g) {
  const ValueId dy = g.OutputGradientOrZero(0);
  if (g.Wants(0)) g.SetInputGradient(0, dy);
  if (g.Wants(1)) g.SetInputGradient(1, OpBuilder(g.builder()).Neg(dy));
}

void GradientMul(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const ValueId dy = g.OutputGradientOrZero(0);
  if (g.Wants(0)) g.SetInputGradient(0, b.Mul(dy, g.input(1)));
  if (g.Wants(1)) g.SetInputGradient(1, b.Mul(dy, g.input(0)));
}

void GradientDiv(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const ValueId quotient = b.Div(g.OutputGradientOrZero(0), g.input(1));
  if (g.Wants(0)) g.SetInputGradient(0, quotient);
  if (g.Wants(1)) g.SetInputGradient(1, b.Neg(b.Mul(quotient, g.output(0))));
}

void GradientNeg(GradientBuilder& g) { g.SetInputGradient(0, OpBuilder(g.builder()).Neg(g.OutputGradientOrZero(0))); }

void GradientScale(GradientBuilder& g) {
  g.SetInputGradient(0, OpBuilder(g.builder()).Scale(g.OutputGradientOrZero(0), g.attrs().Float(0)));
}

void GradientAddScalar(GradientBuilder& g) { g.SetInputGradient(0, g.OutputGradientOrZero(0)); }

// Where b > a the gradient goes to b, elsewhere (equality included) to a.
void GradientMaximum(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const ValueId dy = g.OutputGradientOrZero(0);
  const ValueId right = b.UnaryGrad(op::relu_grad, b.Sub(g.input(1), g.input(0)), dy);
  if (g.Wants(0)) g.SetInputGradient(0, b.Sub(dy, right));
  if (g.Wants(1)) g.SetInputGradient(1, right);
}

void GradientReshape(GradientBuilder& g) {
  const Shape shape = g.type(g.input(0)).shape;
  g.SetInputGradient(0, OpBuilder(g.builder()).Reshape(g.OutputGradientOrZero(0), shape));
}

OpDef Binary(void (*gradient)(GradientBuilder&), std::vector<OpCase> (*cases)()) {
  return {.aligned_inputs = 0b11,
          .attrs = {},
          .infer = InferBinary,
          .gradient = gradient,
          .cost = ElementCost<1>,
          .dependencies = NeedsAligned,
          .cases = cases};
}

OpDef Unary(std::span<const AttrSpec> attrs, void (*gradient)(GradientBuilder&), std::vector<OpCase> (*cases)()) {
  return {.aligned_inputs = 0b1,
          .attrs = attrs,
          .infer = InferUnary,
          .gradient = gradient,
          .cost = ElementCost<1>,
          .dependencies = NeedsAligned,
          .cases = cases};
}

}  // namespace

OpDef Define_fill() {
  // Without inputs there is nothing to differentiate with respect to.
  return {.attrs = kFill,
          .infer = InferFill,
          .gradient = nullptr,
          .cost = ElementCost<0>,
          .dependencies = NeedsNothing,
          .cases = FillCases};
}

OpDef Define_add() { return Binary(GradientAdd, BinaryCases); }
OpDef Define_sub() { return Binary(GradientSub, BinaryCases); }
OpDef Define_mul() { return Binary(GradientMul, BinaryCases); }
OpDef Define_div() { return Binary(GradientDiv, DivCases); }
OpDef Define_maximum() { return Binary(GradientMaximum, BinaryCases); }
OpDef Define_neg() { return Unary({}, GradientNeg, UnaryCases); }
OpDef Define_scale() { return Unary(kFactor, GradientScale, ScaleCases); }
OpDef Define_add_scalar() { return Unary(kTerm, GradientAddScalar, AddScalarCases); }

OpDef Define_reshape() {
  return {.aligned_inputs = 0b1,
          .attrs = kShape,
          .infer = InferReshape,
          .gradient = GradientReshape,
          .cost = ElementCost<0>,
          .dependencies = NeedsAligned,
          .cases = ReshapeCases};
}

}  // namespace assay::ops
