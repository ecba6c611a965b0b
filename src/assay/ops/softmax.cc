// Rules of softmax and the cross-entropy loss: softmax softmax_grad cross_entropy cross_entropy_grad.
#include <fmt/format.h>

#include <limits>

#include "assay/ops/define.h"
#include "assay/ops/rules.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr std::int64_t kWidths[] = {1, 3, 31, 32, 33, 64, 100, 768, 1023, 1024, 1025, 2100};

Result<std::vector<TensorType>> InferSoftmax(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectFloats(in, 1));
  ASSAY_TRY(RowsOfLastAxis(in[0].shape));
  return std::vector{in[0]};
}

Result<std::vector<TensorType>> InferSoftmaxGrad(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectFloats(in, 2));
  ASSAY_TRY(RowsOfLastAxis(in[0].shape));
  ASSAY_TRY(ExpectShape(in, 1, in[0]));
  return std::vector{in[0]};
}

// logits [N, V] and N targets, i32 of any shape, as batches of sequences have two axes; a target must be able to name every class.
Status CheckLoss(std::span<const TensorType> in) {
  ASSAY_TRY(ExpectF32(in, 0));
  if (in[0].shape.rank() != 2) return Err("input 0: expected rank 2, got {}", in[0].shape.rank());
  ASSAY_ASSIGN(const MatrixView view, RowsOfLastAxis(in[0].shape));
  if (view.cols > std::numeric_limits<std::int32_t>::max()) return Err("input 0: {} classes do not fit in i32", view.cols);
  ASSAY_TRY(ExpectReasonable(in[1].shape));
  if (in[1].dtype != DType::kI32 || in[1].elements() != view.rows) {
    return Err("input 1: expected i32 with {} elements, got {}", view.rows, ToString(in[1]));
  }
  return {};
}

Result<std::vector<TensorType>> InferCrossEntropy(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 2));
  ASSAY_TRY(CheckLoss(in));
  return std::vector{F32({in[0].shape[0]}), F32({in[0].shape[0]})};
}

Result<std::vector<TensorType>> InferCrossEntropyGrad(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 4));
  ASSAY_TRY(CheckLoss(in));
  for (std::size_t k : {2u, 3u}) {
    ASSAY_TRY(ExpectShape(in, k, F32({in[0].shape[0]})));
  }
  return std::vector{in[0]};
}

void GradientSoftmax(GradientBuilder& g) {
  g.SetInputGradient(0, g.Emit(op::softmax_grad, {}, {g.output(0), g.OutputGradientOrZero(0)}));
}

// lse is not a differentiable output.
void GradientCrossEntropy(GradientBuilder& g) {
  g.SetInputGradient(0, g.Emit(op::cross_entropy_grad, {}, {g.input(0), g.input(1), g.output(1), g.OutputGradientOrZero(0)}));
}

// Softmax and its gradient mix whole rows of all their inputs.
std::vector<InputRange> NeedsSoftmax(const OpInstance& op, int, Range range) {
  const std::int64_t cols = LastAxisView(op.in[0]).cols;
  std::vector<InputRange> needs;
  for (std::size_t k = 0; k < op.in.size(); ++k) NeedRows(needs, static_cast<int>(k), RowsOf(range, cols), cols);
  return needs;
}

std::vector<InputRange> NeedsCrossEntropy(const OpInstance& op, int output, Range range) {
  std::vector<InputRange> needs;
  NeedRows(needs, 0, range, LastAxisView(op.in[0]).cols);
  if (output == 0) NeedRange(needs, 1, range);
  return needs;
}

std::vector<InputRange> NeedsCrossEntropyGrad(const OpInstance& op, int, Range range) {
  const Range rows = RowsOf(range, LastAxisView(op.in[0]).cols);
  std::vector<InputRange> needs;
  NeedRange(needs, 0, range);
  for (int k : {1, 2, 3}) NeedRange(needs, k, rows);
  return needs;
}

std::vector<OpCase> SoftmaxCases() {
  std::vector<OpCase> cases = {
      {.name = "small", .in = {F32({3, 5})}, .fill = {Fill::kNormal}, .gradient = true},
      {.name = "rank3", .in = {F32({2, 3, 7})}, .fill = {Fill::kNormal}, .gradient = true},
      {.name = "rank1", .in = {F32({40})}, .fill = {Fill::kNormal}},
      {.name = "no_rows", .in = {F32({0, 4})}, .fill = {Fill::kNormal}},
      {.name = "special", .in = {F32({60, 5})}, .fill = {Fill::kSpecial}},
  };
  for (std::int64_t n : kWidths) cases.push_back({.name = fmt::format("n{}", n), .in = {F32({3, n})}, .fill = {Fill::kNormal}});
  return cases;
}

std::vector<OpCase> SoftmaxGradCases() {
  std::vector<OpCase> cases;
  for (OpCase c : SoftmaxCases()) {
    c.gradient = false;
    c.in.push_back(c.in[0]);
    c.fill.push_back(c.fill[0]);
    cases.push_back(std::move(c));
  }
  return cases;
}

OpCase LossCase(std::string name, std::int64_t rows, std::int64_t classes, Fill fill, Fill targets) {
  return {.name = std::move(name), .in = {F32({rows, classes}), I32({rows})}, .fill = {fill, targets}, .index_limit = classes};
}

std::vector<OpCase> CrossEntropyCases() {
  std::vector<OpCase> cases = {
      LossCase("small", 4, 5, Fill::kNormal, Fill::kIndex),      LossCase("no_rows", 0, 5, Fill::kNormal, Fill::kIndex),
      LossCase("ignored", 40, 17, Fill::kNormal, Fill::kTarget), LossCase("special", 60, 5, Fill::kSpecial, Fill::kTarget),
      LossCase("gpt2", 2, 50257, Fill::kNormal, Fill::kIndex),
  };
  cases[0].gradient = true;
  cases.push_back(LossCase("sequences", 6, 11, Fill::kNormal, Fill::kTarget));
  cases.back().in[1] = I32({2, 3});
  for (std::int64_t n : kWidths) cases.push_back(LossCase(fmt::format("n{}", n), 3, n, Fill::kNormal, Fill::kIndex));
  return cases;
}

std::vector<OpCase> CrossEntropyGradCases() {
  std::vector<OpCase> cases;
  for (OpCase c : CrossEntropyCases()) {
    const TensorType row = F32({c.in[0].shape[0]});
    c.gradient = false;
    c.in.insert(c.in.end(), {row, row});
    c.fill.insert(c.fill.end(), {c.fill[0], c.fill[0]});
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace

OpDef Define_softmax() {
  return {.attrs = {},
          .infer = InferSoftmax,
          .gradient = GradientSoftmax,
          .cost = [](const OpInstance& op) { return PerElement(op, 20); },
          .dependencies = NeedsSoftmax,
          .cases = SoftmaxCases};
}

OpDef Define_softmax_grad() {
  return {.attrs = {},
          .infer = InferSoftmaxGrad,
          .gradient = nullptr,
          .cost = [](const OpInstance& op) { return PerElement(op, 4); },
          .dependencies = NeedsSoftmax,
          .cases = SoftmaxGradCases};
}

OpDef Define_cross_entropy() {
  return {.attrs = {},
          .infer = InferCrossEntropy,
          .gradient = GradientCrossEntropy,
          .cost = [](const OpInstance& op) { return PerElement(op, 20); },
          .dependencies = NeedsCrossEntropy,
          .cases = CrossEntropyCases};
}

OpDef Define_cross_entropy_grad() {
  return {.attrs = {},
          .infer = InferCrossEntropyGrad,
          .gradient = nullptr,
          .cost = [](const OpInstance& op) { return PerElement(op, 20); },
          .dependencies = NeedsCrossEntropyGrad,
          .cases = CrossEntropyGradCases};
}

}  // namespace assay::ops
