// Rules of batchnorm_train, batchnorm_infer and batchnorm_grad.
#include "assay/ops/define.h"
#include "assay/ops/norm_rules.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr NormInput kX{};
constexpr NormInput kColumn{NormInput::kPerColumn};
constexpr NormInput kPositive{NormInput::kPerColumn, true};
constexpr NormInput kTrain[] = {kX, kPositive, kColumn};
constexpr NormInput kInfer[] = {kX, kPositive, kColumn, kColumn, kPositive};
constexpr NormInput kGrad[] = {kX, kPositive, kColumn, kPositive, kX};

// Statistics of no rows do not exist.
Status ExpectRows(const Shape& x) { return ExpectAtLeast("rows", x.Product(0, x.rank() - 1), 1); }

Result<std::vector<TensorType>> InferTrain(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectNormInputs(in, kTrain));
  ASSAY_TRY(ExpectRows(in[0].shape));
  ASSAY_TRY(ExpectEpsilon(attrs.Float(0)));
  return std::vector{in[0], in[1], in[1], in[1]};
}

Result<std::vector<TensorType>> InferInfer(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectNormInputs(in, kInfer));
  ASSAY_TRY(ExpectEpsilon(attrs.Float(0)));
  return std::vector{in[0]};
}

Result<std::vector<TensorType>> InferGrad(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectNormInputs(in, kGrad));
  ASSAY_TRY(ExpectRows(in[0].shape));
  return std::vector{in[0], in[1], in[1]};
}

// mean, var and rstd are not differentiable outputs.
void GradientTrain(GradientBuilder& g) {
  const std::vector<ValueId> grads =
      g.EmitAll(op::batchnorm_grad, {}, {g.input(0), g.input(1), g.output(1), g.output(3), g.OutputGradientOrZero(0)});
  for (std::size_t k = 0; k < grads.size(); ++k) g.SetInputGradient(k, grads[k]);
}

// The columns that elements of y or dx touch, or of a statistic.
std::vector<Range> Columns(const MatrixView& x, int output, Range range) {
  return output == 0 ? ColumnsOf(range, x.cols) : std::vector<Range>{range};
}

std::vector<InputRange> NeedsTrain(const OpInstance& op, int output, Range range) {
  const MatrixView x = LastAxisView(op.in[0]);
  const std::vector<Range> columns = Columns(x, output, range);
  std::vector<InputRange> needs;
  NeedColumns(needs, 0, columns, x);
  if (output != 0) return needs;
  for (int k : {1, 2}) NeedColumns(needs, k, columns, {1, x.cols});
  return needs;
}

std::vector<InputRange> NeedsInfer(const OpInstance& op, int, Range range) {
  const std::int64_t cols = LastAxisView(op.in[0]).cols;
  std::vector<InputRange> needs;
  NeedRange(needs, 0, range);
  for (int k : {1, 2, 3, 4}) NeedColumns(needs, k, ColumnsOf(range, cols), {1, cols});
  return needs;
}

std::vector<InputRange> NeedsGrad(const OpInstance& op, int output, Range range) {
  const MatrixView x = LastAxisView(op.in[0]);
  const std::vector<Range> columns = Columns(x, output, range);
  std::vector<InputRange> needs;
  NeedColumns(needs, 4, columns, x);
  if (output == 2) return needs;
  NeedColumns(needs, 0, columns, x);
  for (int k : {2, 3}) NeedColumns(needs, k, columns, {1, x.cols});
  if (output == 0) NeedColumns(needs, 1, columns, {1, x.cols});
  return needs;
}

std::vector<NormCase> InferShapes() {
  std::vector<NormCase> shapes = ColumnNormCases();
  shapes.push_back({.name = "no_rows", .shape = {0, 4}});
  return shapes;
}

}  // namespace

OpDef Define_batchnorm_train() {
  return {.attrs = kEpsilon,
          .infer = InferTrain,
          .gradient = GradientTrain,
          .cost = [](const OpInstance& op) { return PerElement(op, 7); },
          .dependencies = NeedsTrain,
          .cases = [] { return MakeCases(ColumnNormCases(), kTrain, {1e-5f}); }};
}

OpDef Define_batchnorm_infer() {
  return {.attrs = kEpsilon,
          .infer = InferInfer,
          .cost = [](const OpInstance& op) { return PerElement(op, 3); },
          .dependencies = NeedsInfer,
          .cases = [] { return MakeFlatCases(InferShapes(), kInfer, {1e-5f}); }};
}

OpDef Define_batchnorm_grad() {
  return {.infer = InferGrad,
          .cost = [](const OpInstance& op) { return PerElement(op, 11); },
          .dependencies = NeedsGrad,
          .cases = [] { return MakeFlatCases(ColumnNormCases(), kGrad, {}); }};
}

}  // namespace assay::ops
