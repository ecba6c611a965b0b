// transpose, slice, pad, concat: shape rules, gradients, dependencies. They move values of any element type; only f32 has gradients.
#include <algorithm>

#include "assay/ops/define.h"
#include "assay/ops/infer.h"
#include "assay/ops/layout_cases.h"
#include "assay/ops/layout_geometry.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kTransposeAttrs[] = {{"perm", AttrKind::kInts}};
constexpr AttrSpec kSliceAttrs[] = {{"axis", AttrKind::kInt}, {"begin", AttrKind::kInt}, {"end", AttrKind::kInt}};
constexpr AttrSpec kPadAttrs[] = {{"axis", AttrKind::kInt}, {"before", AttrKind::kInt}, {"after", AttrKind::kInt}};
constexpr AttrSpec kConcatAttrs[] = {{"axis", AttrKind::kInt}};

Result<std::vector<TensorType>> InferTranspose(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 1));
  const std::vector<std::int64_t>& perm = attrs.Ints(0);
  const Shape& x = in[0].shape;
  bool seen[Shape::kMaxRank] = {};
  bool valid = perm.size() == static_cast<std::size_t>(x.rank());
  Shape out;
  for (std::size_t k = 0; valid && k < perm.size(); ++k) {
    valid = perm[k] >= 0 && perm[k] < x.rank() && !seen[perm[k]];
    if (!valid) break;
    seen[perm[k]] = true;
    out.Append(x[static_cast<int>(perm[k])]);
  }
  if (!valid) return Err("perm: expected a permutation of the {} axes of {}", x.rank(), ToString(in[0]));
  return OutputLike(in[0].dtype, out);
}

Result<std::vector<TensorType>> InferSlice(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 1));
  ASSAY_TRY(ExpectBetween("axis", attrs.Int(0), 0, in[0].shape.rank() - 1));
  const int axis = static_cast<int>(attrs.Int(0));
  ASSAY_TRY(ExpectBetween("end", attrs.Int(2), 0, in[0].shape[axis]));
  ASSAY_TRY(ExpectBetween("begin", attrs.Int(1), 0, attrs.Int(2)));
  Shape out = in[0].shape;
  out.Set(axis, attrs.Int(2) - attrs.Int(1));
  return OutputLike(in[0].dtype, out);
}

Result<std::vector<TensorType>> InferPad(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 1));
  ASSAY_TRY(ExpectBetween("axis", attrs.Int(0), 0, in[0].shape.rank() - 1));
  ASSAY_TRY(ExpectBetween("before", attrs.Int(1), 0, kMaxElements));
  ASSAY_TRY(ExpectBetween("after", attrs.Int(2), 0, kMaxElements));
  const int axis = static_cast<int>(attrs.Int(0));
  ASSAY_TRY(ExpectBetween("extent", in[0].shape[axis], 0, kMaxElements));
  Shape out = in[0].shape;
  out.Set(axis, out[axis] + attrs.Int(1) + attrs.Int(2));
  return OutputLike(in[0].dtype, out);
}

Result<std::vector<TensorType>> InferConcat(const Attrs& attrs, std::span<const TensorType> in) {
  if (in.empty()) return Err("expected at least one input, got none");
  ASSAY_TRY(ExpectBetween("axis", attrs.Int(0), 0, in[0].shape.rank() - 1));
  const int axis = static_cast<int>(attrs.Int(0));
  TensorType out = in[0];
  std::int64_t extent = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    TensorType expected = in[0];
    if (in[k].shape.rank() == expected.shape.rank()) expected.shape.Set(axis, in[k].shape[axis]);
    ASSAY_TRY(ExpectShape(in, k, expected));
    ASSAY_TRY(ExpectBetween("extent", in[k].shape[axis], 0, kMaxElements - extent));
    extent += in[k].shape[axis];
  }
  out.shape.Set(axis, extent);
  return OutputLike(out.dtype, out.shape);
}

void GradientTranspose(GradientBuilder& g) {
  const std::vector<std::int64_t>& perm = g.attrs().Ints(0);
  std::vector<std::int64_t> inverse(perm.size());
  for (std::size_t k = 0; k < perm.size(); ++k) inverse[static_cast<std::size_t>(perm[k])] = static_cast<std::int64_t>(k);
  g.SetInputGradient(0, g.Emit(op::transpose, {inverse}, {g.OutputGradientOrZero(0)}));
}

void GradientSlice(GradientBuilder& g) {
  const std::int64_t axis = g.attrs().Int(0);
  const std::int64_t extent = g.type(g.input(0)).shape[static_cast<int>(axis)];
  g.SetInputGradient(0, g.Emit(op::pad, {axis, g.attrs().Int(1), extent - g.attrs().Int(2)}, {g.OutputGradientOrZero(0)}));
}

void GradientPad(GradientBuilder& g) {
  const std::int64_t axis = g.attrs().Int(0);
  const std::int64_t extent = g.type(g.input(0)).shape[static_cast<int>(axis)];
  const std::int64_t before = g.attrs().Int(1);
  g.SetInputGradient(0, g.Emit(op::slice, {axis, before, before + extent}, {g.OutputGradientOrZero(0)}));
}

void GradientConcat(GradientBuilder& g) {
  const std::int64_t axis = g.attrs().Int(0);
  std::int64_t begin = 0;
  for (std::size_t k = 0; k < g.inputs(); ++k) {
    const std::int64_t end = begin + g.type(g.input(k)).shape[static_cast<int>(axis)];
    if (g.Wants(k)) g.SetInputGradient(k, g.Emit(op::slice, {axis, begin, end}, {g.OutputGradientOrZero(0)}));
    begin = end;
  }
}

Cost CostOf(const OpInstance& op) { return {.flops = 0, .bytes = TouchedBytes(op)}; }

// One strided run for each part of an output row; a range of many short rows is declared as the whole input.
std::vector<InputRange> DependenciesTranspose(const OpInstance& op, int, Range range) {
  constexpr std::int64_t kMaxRuns = 4096;
  if (range.size() <= 0) return {};
  const std::vector<TransposeAxis> axes = AxesOfTranspose(op);
  if (axes.empty()) return {Whole(op, 0)};
  const TransposeAxis& last = axes.back();
  if (range.size() / last.extent > kMaxRuns) return {Whole(op, 0)};
  std::vector<InputRange> needed;
  for (std::int64_t i = range.begin; i < range.end;) {
    const std::int64_t row_end = std::min(range.end, (i / last.extent + 1) * last.extent);
    std::int64_t begin = 0;
    for (const TransposeAxis& axis : axes) begin += i / axis.out_stride % axis.extent * axis.in_stride;
    needed.push_back({.input = 0, .begin = begin, .length = 1, .stride = last.in_stride, .repeat = row_end - i});
    i = row_end;
  }
  return needed;
}

// The columns [begin, end) of rows [row, row + rows) as far as each piece supplies them.
void AddColumns(const RowPieces& view, std::int64_t row, std::int64_t rows, std::int64_t begin, std::int64_t end,
                std::vector<InputRange>& needed) {
  if (rows <= 0) return;
  for (const RowPiece& piece : view.pieces) {
    const std::int64_t first = std::max(begin, piece.out_begin);
    const std::int64_t last = std::min(end, piece.out_begin + piece.length);
    if (first >= last) continue;
    needed.push_back({.input = piece.input,
                      .begin = row * piece.in_row + piece.in_begin + (first - piece.out_begin),
                      .length = last - first,
                      .stride = piece.in_row,
                      .repeat = rows});
  }
}

std::vector<InputRange> DependenciesOfRows(const RowPieces& view, Range range) {
  std::vector<InputRange> needed;
  if (range.size() <= 0) return needed;
  const std::int64_t first = range.begin / view.out_row, last = (range.end - 1) / view.out_row;
  const std::int64_t begin = range.begin % view.out_row, end = (range.end - 1) % view.out_row + 1;
  if (first == last) {
    AddColumns(view, first, 1, begin, end, needed);
  } else {
    AddColumns(view, first, 1, begin, view.out_row, needed);
    AddColumns(view, first + 1, last - first - 1, 0, view.out_row, needed);
    AddColumns(view, last, 1, 0, end, needed);
  }
  return needed;
}

OpDef Layout(std::span<const AttrSpec> attrs) {
  OpDef def;
  def.attrs = attrs;
  def.cost = CostOf;
  return def;
}

}  // namespace

OpDef Define_transpose() {
  OpDef def = Layout(kTransposeAttrs);
  def.infer = InferTranspose;
  def.gradient = GradientTranspose;
  def.dependencies = DependenciesTranspose;
  def.cases = TransposeCases;
  return def;
}

OpDef Define_slice() {
  OpDef def = Layout(kSliceAttrs);
  def.infer = InferSlice;
  def.gradient = GradientSlice;
  def.dependencies = [](const OpInstance& op, int, Range range) { return DependenciesOfRows(PiecesOfSlice(op), range); };
  def.cases = SliceCases;
  return def;
}

OpDef Define_pad() {
  OpDef def = Layout(kPadAttrs);
  def.infer = InferPad;
  def.gradient = GradientPad;
  def.dependencies = [](const OpInstance& op, int, Range range) { return DependenciesOfRows(PiecesOfPad(op), range); };
  def.cases = PadCases;
  return def;
}

OpDef Define_concat() {
  OpDef def = Layout(kConcatAttrs);
  def.infer = InferConcat;
  def.gradient = GradientConcat;
  def.dependencies = [](const OpInstance& op, int, Range range) { return DependenciesOfRows(PiecesOfConcat(op), range); };
  def.cases = ConcatCases;
  return def;
}

}  // namespace assay::ops
