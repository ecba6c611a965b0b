// Rules of rmsnorm, rmsnorm_grad_x and rmsnorm_grad_gamma.
#include "assay/ops/define.h"
#include "assay/ops/norm_rules.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr NormInput kX{};
constexpr NormInput kGamma{NormInput::kPerColumn, true};
constexpr NormInput kRstd{NormInput::kPerRow, true};
constexpr NormInput kForward[] = {kX, kGamma};
constexpr NormInput kGradX[] = {kX, kGamma, kRstd, kX};
constexpr NormInput kGradGamma[] = {kX, kRstd, kX};

Result<std::vector<TensorType>> InferForward(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectNormInputs(in, kForward));
  ASSAY_TRY(ExpectEpsilon(attrs.Float(0)));
  return std::vector{in[0], F32(WithoutLastAxis(in[0].shape))};
}

Result<std::vector<TensorType>> InferGradX(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectNormInputs(in, kGradX));
  return std::vector{in[0]};
}

Result<std::vector<TensorType>> InferGradGamma(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectNormInputs(in, kGradGamma));
  return std::vector{F32({in[0].shape.Back(0)})};
}

// rstd is not a differentiable output.
void Gradient(GradientBuilder& g) {
  const ValueId dy = g.OutputGradientOrZero(0);
  const ValueId x = g.input(0);
  const ValueId rstd = g.output(1);
  if (g.Wants(0)) g.SetInputGradient(0, g.Emit(op::rmsnorm_grad_x, {}, {x, g.input(1), rstd, dy}));
  if (g.Wants(1)) g.SetInputGradient(1, g.Emit(op::rmsnorm_grad_gamma, {}, {x, rstd, dy}));
}

std::vector<InputRange> NeedsForward(const OpInstance& op, int output, Range range) {
  const std::int64_t cols = LastAxisView(op.in[0]).cols;
  std::vector<InputRange> needs;
  NeedRows(needs, 0, output == 0 ? RowsOf(range, cols) : range, cols);
  if (output == 0) NeedColumns(needs, 1, ColumnsOf(range, cols), {1, cols});
  return needs;
}

std::vector<InputRange> NeedsGradX(const OpInstance& op, int, Range range) { return NeedsOfRows(op, kGradX, range); }
std::vector<InputRange> NeedsGradGamma(const OpInstance& op, int, Range range) {
  return NeedsOfColumnSums(op, kGradGamma, range);
}

}  // namespace

OpDef Define_rmsnorm() {
  return {.attrs = kEpsilon,
          .infer = InferForward,
          .gradient = Gradient,
          .cost = [](const OpInstance& op) { return PerElement(op, 4); },
          .dependencies = NeedsForward,
          .cases = [] { return MakeCases(RowNormCases(), kForward, {1e-5f}); }};
}

OpDef Define_rmsnorm_grad_x() {
  return {.infer = InferGradX,
          .cost = [](const OpInstance& op) { return PerElement(op, 9); },
          .dependencies = NeedsGradX,
          .cases = [] { return MakeFlatCases(RowNormCases(), kGradX, {}); }};
}

OpDef Define_rmsnorm_grad_gamma() {
  return {.infer = InferGradGamma,
          .cost = [](const OpInstance& op) { return PerElement(op, 3); },
          .dependencies = NeedsGradGamma,
          .cases = [] { return MakeFlatCases(ParameterCases(), kGradGamma, {}); }};
}

}  // namespace assay::ops
