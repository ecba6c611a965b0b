// Rules of layernorm, layernorm_grad_x and layernorm_grad_params.
#include "assay/ops/define.h"
#include "assay/ops/norm_rules.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr NormInput kX{};
constexpr NormInput kGamma{NormInput::kPerColumn, true};
constexpr NormInput kBeta{NormInput::kPerColumn};
constexpr NormInput kMean{NormInput::kPerRow};
constexpr NormInput kRstd{NormInput::kPerRow, true};
constexpr NormInput kForward[] = {kX, kGamma, kBeta};
constexpr NormInput kGradX[] = {kX, kGamma, kMean, kRstd, kX};
constexpr NormInput kGradParams[] = {kX, kMean, kRstd, kX};

Result<std::vector<TensorType>> InferForward(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectNormInputs(in, kForward));
  ASSAY_TRY(ExpectEpsilon(attrs.Float(0)));
  const TensorType row = F32(WithoutLastAxis(in[0].shape));
  return std::vector{in[0], row, row};
}

Result<std::vector<TensorType>> InferGradX(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectNormInputs(in, kGradX));
  return std::vector{in[0]};
}

Result<std::vector<TensorType>> InferGradParams(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectNormInputs(in, kGradParams));
  const TensorType column = F32({in[0].shape.Back(0)});
  return std::vector{column, column};
}

// mean and rstd are not differentiable outputs.
void Gradient(GradientBuilder& g) {
  const ValueId dy = g.OutputGradientOrZero(0);
  const ValueId x = g.input(0);
  const ValueId mean = g.output(1);
  const ValueId rstd = g.output(2);
  if (g.Wants(0)) g.SetInputGradient(0, g.Emit(op::layernorm_grad_x, {}, {x, g.input(1), mean, rstd, dy}));
  if (g.Wants(1) || g.Wants(2)) {
    const std::vector<ValueId> params = g.EmitAll(op::layernorm_grad_params, {}, {x, mean, rstd, dy});
    g.SetInputGradient(1, params[0]);
    g.SetInputGradient(2, params[1]);
  }
}

std::vector<InputRange> NeedsForward(const OpInstance& op, int output, Range range) {
  const std::int64_t cols = LastAxisView(op.in[0]).cols;
  std::vector<InputRange> needs;
  NeedRows(needs, 0, output == 0 ? RowsOf(range, cols) : range, cols);
  if (output != 0) return needs;
  for (int k : {1, 2}) NeedColumns(needs, k, ColumnsOf(range, cols), {1, cols});
  return needs;
}

std::vector<InputRange> NeedsGradX(const OpInstance& op, int, Range range) { return NeedsOfRows(op, kGradX, range); }

// The gradient of beta is the sum of dy alone.
std::vector<InputRange> NeedsGradParams(const OpInstance& op, int output, Range range) {
  if (output == 0) return NeedsOfColumnSums(op, kGradParams, range);
  std::vector<InputRange> needs;
  if (range.size() > 0) NeedColumns(needs, 3, {&range, 1}, LastAxisView(op.in[0]));
  return needs;
}

}  // namespace

OpDef Define_layernorm() {
  return {.attrs = kEpsilon,
          .infer = InferForward,
          .gradient = Gradient,
          .cost = [](const OpInstance& op) { return PerElement(op, 7); },
          .dependencies = NeedsForward,
          .cases = [] { return MakeCases(RowNormCases(), kForward, {1e-5f}); }};
}

OpDef Define_layernorm_grad_x() {
  return {.infer = InferGradX,
          .cost = [](const OpInstance& op) { return PerElement(op, 13); },
          .dependencies = NeedsGradX,
          .cases = [] { return MakeFlatCases(RowNormCases(), kGradX, {}); }};
}

OpDef Define_layernorm_grad_params() {
  return {.infer = InferGradParams,
          .cost = [](const OpInstance& op) { return PerElement(op, 5); },
          .dependencies = NeedsGradParams,
          .cases = [] { return MakeFlatCases(ParameterCases(), kGradParams, {}); }};
}

}  // namespace assay::ops
