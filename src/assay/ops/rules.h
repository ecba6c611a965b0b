// What the rules of several op families share: checks for shape inference, and the arithmetic of input dependencies.
//
// Shape inference meets programs from outside, so every product here is checked before it is formed. Pure functions; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/graph/op_def.h"
#include "assay/ops/infer.h"

namespace assay::ops {

// A tensor seen as a matrix.
struct MatrixView {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t elements() const { return rows * cols; }
};

// All inputs are f32 and there are `count` of them.
Status ExpectFloats(std::span<const TensorType> in, std::size_t count);
Status ExpectAtLeast(const char* what, std::int64_t value, std::int64_t least);
// Finite and not negative: the epsilon of a norm.
Status ExpectEpsilon(float eps);
// The extents multiply to at most kMaxElements, in any grouping.
Status ExpectReasonable(const Shape& shape);

// [product of axes < split, product of axes >= split].
Result<MatrixView> SplitAt(const Shape& shape, std::int64_t split);
// [rows, last extent]; the rank is at least 1 and the last extent at least 1.
Result<MatrixView> RowsOfLastAxis(const Shape& shape);
// The axes before the last one.
Shape WithoutLastAxis(const Shape& shape);

// For types that have passed inference.
MatrixView LastAxisView(const TensorType& type);
MatrixView SplitView(const TensorType& type, std::int64_t split);

// Reads every input and writes every output once, with `flops` operations per element of input 0.
Cost PerElement(const OpInstance& op, double flops);

// Rows [begin, end) that elements `range` of a matrix with `cols` columns touch.
Range RowsOf(Range range, std::int64_t cols);
// The columns they touch: one range, or two when the range wraps round the end of a row without covering all.
std::vector<Range> ColumnsOf(Range range, std::int64_t cols);

// Appends dependencies; an empty one is left out.
void NeedRange(std::vector<InputRange>& out, int input, Range range);
void NeedRows(std::vector<InputRange>& out, int input, Range rows, std::int64_t cols);
// Columns `cols` of every row of the matrix.
void NeedColumns(std::vector<InputRange>& out, int input, std::span<const Range> cols, MatrixView matrix);

inline TensorType F32(Shape shape) { return {DType::kF32, shape}; }
inline TensorType I32(Shape shape) { return {DType::kI32, shape}; }

}  // namespace assay::ops
