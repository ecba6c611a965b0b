// Rules of the reductions: row_sum col_sum row_max row_max_grad sum_squares clip_scale.
#include <fmt/format.h>

#include "assay/ops/builder.h"
#include "assay/ops/define.h"
#include "assay/ops/rules.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kSplit[] = {{"split", AttrKind::kInt}};
constexpr AttrSpec kMaxNorm[] = {{"max_norm", AttrKind::kFloat}};

MatrixView View(const OpInstance& op) { return SplitView(op.in[0], op.attrs.Int(0)); }

Result<std::vector<TensorType>> InferRow(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectFloats(in, 1));
  ASSAY_TRY(SplitAt(in[0].shape, attrs.Int(0)));
  return std::vector{F32(Shape(in[0].shape.dims().first(static_cast<std::size_t>(attrs.Int(0)))))};
}

Result<std::vector<TensorType>> InferRowMax(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectFloats(in, 1));
  ASSAY_ASSIGN(const MatrixView view, SplitAt(in[0].shape, attrs.Int(0)));
  ASSAY_TRY(ExpectAtLeast("elements of a row", view.cols, 1));
  return InferRow(attrs, in);
}

Result<std::vector<TensorType>> InferColSum(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectFloats(in, 1));
  ASSAY_TRY(SplitAt(in[0].shape, attrs.Int(0)));
  return std::vector{F32(Shape(in[0].shape.dims().subspan(static_cast<std::size_t>(attrs.Int(0)))))};
}

Result<std::vector<TensorType>> InferRowMaxGrad(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectFloats(in, 3));
  ASSAY_ASSIGN(const auto y, InferRowMax(attrs, in.first(1)));
  ASSAY_TRY(ExpectShape(in, 1, y[0]));
  ASSAY_TRY(ExpectShape(in, 2, y[0]));
  return std::vector{in[0]};
}

Result<std::vector<TensorType>> InferSumSquares(const Attrs&, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectFloats(in, 1));
  ASSAY_TRY(ExpectReasonable(in[0].shape));
  return std::vector{F32({})};
}

Result<std::vector<TensorType>> InferClipScale(const Attrs& attrs, std::span<const TensorType> in) {
  if (in.empty()) return Err("expected at least one sum of squares");
  ASSAY_TRY(ExpectFloats(in, in.size()));
  for (std::size_t k = 0; k < in.size(); ++k) ASSAY_TRY(ExpectShape(in, k, F32({})));
  if (attrs.Float(0) != attrs.Float(0)) return Err("max_norm: expected a number, got NaN");
  return std::vector{F32({}), F32({})};
}

void GradientRowSum(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const Shape shape = g.type(g.input(0)).shape;
  Shape column = g.type(g.output(0)).shape;
  while (column.rank() < shape.rank()) column.Append(1);
  g.SetInputGradient(0, b.BroadcastTo(b.Reshape(g.OutputGradientOrZero(0), column), shape));
}

void GradientColSum(GradientBuilder& g) {
  const Shape shape = g.type(g.input(0)).shape;
  g.SetInputGradient(0, OpBuilder(g.builder()).BroadcastTo(g.OutputGradientOrZero(0), shape));
}

void GradientRowMax(GradientBuilder& g) {
  g.SetInputGradient(0, g.Emit(op::row_max_grad, g.attrs(), {g.input(0), g.output(0), g.OutputGradientOrZero(0)}));
}

void GradientSumSquares(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const Shape shape = g.type(g.input(0)).shape;
  const ValueId dy = b.BroadcastTo(g.OutputGradientOrZero(0), shape);
  g.SetInputGradient(0, b.Mul(b.Scale(g.input(0), 2.0f), dy));
}

std::vector<InputRange> NeedsWholeRows(const OpInstance& op, int, Range range) {
  std::vector<InputRange> needs;
  NeedRows(needs, 0, range, View(op).cols);
  return needs;
}

std::vector<InputRange> NeedsColSum(const OpInstance& op, int, Range range) {
  std::vector<InputRange> needs;
  NeedColumns(needs, 0, {&range, 1}, View(op));
  return needs;
}

std::vector<InputRange> NeedsRowMaxGrad(const OpInstance& op, int, Range range) {
  const std::int64_t cols = View(op).cols;
  const Range rows = RowsOf(range, cols);
  std::vector<InputRange> needs;
  // An element's fate is decided by those before it in its row.
  NeedRange(needs, 0, {rows.begin * cols, range.end});
  NeedRange(needs, 1, rows);
  NeedRange(needs, 2, rows);
  return needs;
}

std::vector<InputRange> NeedsEverything(const OpInstance& op, int, Range range) {
  std::vector<InputRange> needs;
  if (range.size() <= 0) return needs;
  for (std::size_t k = 0; k < op.in.size(); ++k) NeedRange(needs, static_cast<int>(k), {0, op.in[k].elements()});
  return needs;
}

OpCase Case(std::string name, Shape shape, std::int64_t split, Fill fill = Fill::kNormal, bool gradient = false) {
  return {.name = std::move(name), .attrs = {split}, .in = {F32(shape)}, .fill = {fill}, .gradient = gradient};
}

std::vector<OpCase> RowCases() {
  std::vector<OpCase> cases = {Case("small", {3, 5}, 1, Fill::kNormal, true),
                               Case("split2", {2, 3, 4, 5}, 2, Fill::kNormal, true),
                               Case("scalar", {}, 0),
                               Case("no_rows", {0, 7}, 1),
                               Case("special", {40, 33}, 1, Fill::kSpecial),
                               Case("all", {70, 1000}, 0),
                               Case("huge_row", {1, 1100000}, 1)};
  for (std::int64_t n : {1, 3, 31, 32, 33, 64, 100, 768, 1023, 1024, 1025, 2100}) {
    cases.push_back(Case(fmt::format("n{}", n), {3, n}, 1));
  }
  return cases;
}

std::vector<OpCase> RowSumCases() {
  std::vector<OpCase> cases = RowCases();
  cases.push_back(Case("empty_rows", {4, 0}, 1));
  return cases;
}

std::vector<OpCase> ColSumCases() {
  std::vector<OpCase> cases = {Case("small", {5, 3}, 1, Fill::kNormal, true),
                               Case("split2", {2, 3, 4, 5}, 2, Fill::kNormal, true), Case("scalar", {}, 0),
                               Case("no_columns", {7, 0}, 1), Case("special", {140, 33}, 1, Fill::kSpecial)};
  for (std::int64_t rows : {0, 1, 2, 63, 64, 65, 129, 5000}) cases.push_back(Case(fmt::format("r{}", rows), {rows, 37}, 1));
  for (std::int64_t cols : {1, 3, 31, 32, 33, 64, 100, 768, 1025})
    cases.push_back(Case(fmt::format("c{}", cols), {70, cols}, 1));
  return cases;
}

std::vector<OpCase> RowMaxGradCases() {
  std::vector<OpCase> cases;
  for (OpCase c : RowCases()) {
    const Shape y(c.in[0].shape.dims().first(static_cast<std::size_t>(c.attrs.Int(0))));
    c.gradient = false;
    c.in.insert(c.in.end(), {F32(y), F32(y)});
    c.fill.insert(c.fill.end(), {c.fill[0], Fill::kNormal});
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<OpCase> SumSquaresCases() {
  std::vector<OpCase> cases;
  for (OpCase c : RowSumCases()) {
    c.attrs = {};
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<OpCase> ClipScaleCases() {
  std::vector<OpCase> cases;
  const auto add = [&](std::string name, std::size_t inputs, float max_norm, Fill fill) {
    cases.push_back(
        {.name = std::move(name), .attrs = {max_norm}, .in = std::vector(inputs, F32({})), .fill = std::vector(inputs, fill)});
  };
  add("clips", 3, 0.5f, Fill::kPositive);
  add("keeps", 3, 100.0f, Fill::kPositive);
  add("never", 2, 0.0f, Fill::kPositive);
  add("special", 5, 1.0f, Fill::kSpecial);
  add("nan_norm", 1, 1.0f, Fill::kNormal);
  add("many", 40, 1.0f, Fill::kPositive);
  return cases;
}

}  // namespace

OpDef Define_row_sum() {
  return {.attrs = kSplit,
          .infer = InferRow,
          .gradient = GradientRowSum,
          .cost = [](const OpInstance& op) { return PerElement(op, 1); },
          .dependencies = NeedsWholeRows,
          .cases = RowSumCases};
}

OpDef Define_col_sum() {
  return {.attrs = kSplit,
          .infer = InferColSum,
          .gradient = GradientColSum,
          .cost = [](const OpInstance& op) { return PerElement(op, 1); },
          .dependencies = NeedsColSum,
          .cases = ColSumCases};
}

OpDef Define_row_max() {
  return {.attrs = kSplit,
          .infer = InferRowMax,
          .gradient = GradientRowMax,
          .cost = [](const OpInstance& op) { return PerElement(op, 1); },
          .dependencies = NeedsWholeRows,
          .cases = RowCases};
}

OpDef Define_row_max_grad() {
  return {.attrs = kSplit,
          .infer = InferRowMaxGrad,
          .gradient = nullptr,
          .cost = [](const OpInstance& op) { return PerElement(op, 1); },
          .dependencies = NeedsRowMaxGrad,
          .cases = RowMaxGradCases};
}

OpDef Define_sum_squares() {
  return {.attrs = {},
          .infer = InferSumSquares,
          .gradient = GradientSumSquares,
          .cost = [](const OpInstance& op) { return PerElement(op, 2); },
          .dependencies = NeedsEverything,
          .cases = SumSquaresCases};
}

OpDef Define_clip_scale() {
  return {.attrs = kMaxNorm,
          .infer = InferClipScale,
          .gradient = nullptr,
          .cost = [](const OpInstance& op) { return PerElement(op, static_cast<double>(op.in.size())); },
          .dependencies = NeedsEverything,
          .cases = ClipScaleCases};
}

}  // namespace assay::ops
