#include "assay/ops/rules.h"

#include <algorithm>

#include "assay/base/check.h"

namespace assay::ops {

Status ExpectFloats(std::span<const TensorType> in, std::size_t count) {
  ASSAY_TRY(ExpectInputs(in, count));
  for (std::size_t k = 0; k < count; ++k) ASSAY_TRY(ExpectF32(in, k));
  return {};
}

Status ExpectAtLeast(const char* what, std::int64_t value, std::int64_t least) {
  if (value < least) return Err("{}: expected at least {}, got {}", what, least, value);
  return {};
}

Status ExpectEpsilon(float eps) {
  if (!(eps >= 0.0f && eps <= 1e30f)) return Err("eps: expected a finite number >= 0, got {}", eps);
  return {};
}

Status ExpectReasonable(const Shape& shape) {
  std::int64_t product = 1;
  for (std::int64_t d : shape.dims()) {
    if (d > kMaxElements / product) return Err("shape {} is too large", ToString(shape));
    // A zero extent must not hide that the others overflow when they are grouped without it.
    product *= std::max<std::int64_t>(d, 1);
  }
  return {};
}

Result<MatrixView> SplitAt(const Shape& shape, std::int64_t split) {
  if (split < 0 || split > shape.rank()) return Err("split: expected 0 to {}, got {}", shape.rank(), split);
  ASSAY_TRY(ExpectReasonable(shape));
  const int axis = static_cast<int>(split);
  return MatrixView{shape.Product(0, axis), shape.Product(axis, shape.rank())};
}

Result<MatrixView> RowsOfLastAxis(const Shape& shape) {
  if (shape.rank() < 1) return Err("expected at least one axis, got a scalar");
  ASSAY_TRY(ExpectAtLeast("last extent", shape.Back(0), 1));
  return SplitAt(shape, shape.rank() - 1);
}

Shape WithoutLastAxis(const Shape& shape) { return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 1))); }

MatrixView LastAxisView(const TensorType& type) { return SplitView(type, type.shape.rank() - 1); }

MatrixView SplitView(const TensorType& type, std::int64_t split) {
  const int axis = static_cast<int>(split);
  return {type.shape.Product(0, axis), type.shape.Product(axis, type.shape.rank())};
}

Cost PerElement(const OpInstance& op, double flops) {
  return {.flops = flops * static_cast<double>(op.in[0].elements()), .bytes = TouchedBytes(op)};
}

Range RowsOf(Range range, std::int64_t cols) {
  if (range.size() <= 0) return {};
  return {range.begin / cols, (range.end - 1) / cols + 1};
}

std::vector<Range> ColumnsOf(Range range, std::int64_t cols) {
  if (range.size() <= 0) return {};
  if (range.size() >= cols) return {{0, cols}};
  const std::int64_t begin = range.begin % cols;
  const std::int64_t end = begin + range.size();
  if (end <= cols) return {{begin, end}};
  if (end - cols >= begin) return {{0, cols}};
  return {{0, end - cols}, {begin, cols}};
}

void NeedRange(std::vector<InputRange>& out, int input, Range range) {
  if (range.size() > 0) out.push_back({.input = input, .begin = range.begin, .length = range.size()});
}

void NeedRows(std::vector<InputRange>& out, int input, Range rows, std::int64_t cols) {
  NeedRange(out, input, {rows.begin * cols, rows.end * cols});
}

void NeedColumns(std::vector<InputRange>& out, int input, std::span<const Range> cols, MatrixView matrix) {
  if (matrix.rows == 0) return;
  for (const Range& c : cols) {
    if (c.size() == matrix.cols) {
      NeedRange(out, input, {0, matrix.elements()});
    } else if (c.size() > 0) {
      out.push_back({.input = input, .begin = c.begin, .length = c.size(), .stride = matrix.cols, .repeat = matrix.rows});
    }
  }
}

}  // namespace assay::ops
