// Rules of the elementary functions: exp log sqrt rsqrt tanh erf sin cos pow.
#include "assay/ops/builder.h"
#include "assay/ops/define.h"
#include "assay/ops/elementwise.h"
#include "assay/ops/rules.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kExponent[] = {{"exponent", AttrKind::kFloat}};

void GradientExp(GradientBuilder& g) {
  g.SetInputGradient(0, OpBuilder(g.builder()).Mul(g.OutputGradientOrZero(0), g.output(0)));
}

void GradientLog(GradientBuilder& g) {
  g.SetInputGradient(0, OpBuilder(g.builder()).Div(g.OutputGradientOrZero(0), g.input(0)));
}

void GradientSqrt(GradientBuilder& g) {
  OpBuilder b(g.builder());
  g.SetInputGradient(0, b.Div(b.Scale(g.OutputGradientOrZero(0), 0.5f), g.output(0)));
}

void GradientRsqrt(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const ValueId y = g.output(0);
  const ValueId cube = b.Mul(b.Mul(y, y), y);
  g.SetInputGradient(0, b.Mul(b.Scale(g.OutputGradientOrZero(0), -0.5f), cube));
}

void GradientTanh(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const ValueId y = g.output(0);
  g.SetInputGradient(0, b.Mul(g.OutputGradientOrZero(0), b.AddScalar(b.Neg(b.Mul(y, y)), 1.0f)));
}

void GradientErf(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const ValueId x = g.input(0);
  const ValueId bell = b.Scale(b.Unary(op::exp, b.Neg(b.Mul(x, x))), 1.1283791671f);  // 2 / sqrt(pi)
  g.SetInputGradient(0, b.Mul(g.OutputGradientOrZero(0), bell));
}

void GradientSin(GradientBuilder& g) {
  OpBuilder b(g.builder());
  g.SetInputGradient(0, b.Mul(g.OutputGradientOrZero(0), b.Unary(op::cos, g.input(0))));
}

void GradientCos(GradientBuilder& g) {
  OpBuilder b(g.builder());
  g.SetInputGradient(0, b.Neg(b.Mul(g.OutputGradientOrZero(0), b.Unary(op::sin, g.input(0)))));
}

void GradientPow(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const float exponent = g.attrs().Float(0);
  g.SetInputGradient(0, b.Mul(g.OutputGradientOrZero(0), b.Scale(b.Pow(g.input(0), exponent - 1.0f), exponent)));
}

std::vector<OpCase> Cases() { return ElementCases(1, {}, Fill::kNormal, true); }
std::vector<OpCase> PositiveCases() { return ElementCases(1, {}, Fill::kPositive, true); }

std::vector<OpCase> PowCases() {
  std::vector<OpCase> cases = ElementCases(1, {1.7f}, Fill::kPositive, true);
  for (float exponent : {-3.0f, -2.5f, -1.0f, -0.0f, 0.5f, 1.0f, 2.0f, 3.0f, 1e6f, -3e38f}) {
    cases.push_back(
        {.name = fmt::format("to_{}", exponent), .attrs = {exponent}, .in = {F32({333})}, .fill = {Fill::kSpecial}});
  }
  return cases;
}

OpDef Function(void (*gradient)(GradientBuilder&), std::vector<OpCase> (*cases)()) {
  return {.aligned_inputs = 0b1,
          .attrs = {},
          .infer = InferUnary,
          .gradient = gradient,
          .cost = ElementCost<20>,
          .dependencies = NeedsAligned,
          .cases = cases};
}

}  // namespace

OpDef Define_exp() { return Function(GradientExp, Cases); }
OpDef Define_log() { return Function(GradientLog, PositiveCases); }
OpDef Define_sqrt() { return Function(GradientSqrt, PositiveCases); }
OpDef Define_rsqrt() { return Function(GradientRsqrt, PositiveCases); }
OpDef Define_tanh() { return Function(GradientTanh, Cases); }
OpDef Define_erf() { return Function(GradientErf, Cases); }
OpDef Define_sin() { return Function(GradientSin, Cases); }
OpDef Define_cos() { return Function(GradientCos, Cases); }

OpDef Define_pow() {
  OpDef def = Function(GradientPow, PowCases);
  def.attrs = kExponent;
  return def;
}

}  // namespace assay::ops
