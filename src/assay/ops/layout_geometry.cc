#include "assay/ops/layout_geometry.h"

namespace assay::ops {
namespace {

// Views `shape` as [product of axes < axis, product of axes >= axis]: the row length.
std::int64_t RowLength(const Shape& shape, int axis) { return shape.Product(axis, shape.rank()); }

}  // namespace

RowPieces PiecesOfSlice(const OpInstance& op) {
  const int axis = static_cast<int>(op.attrs.Int(0));
  const Shape& x = op.in[0].shape;
  const std::int64_t inner = x.Product(axis + 1, x.rank());
  const std::int64_t out_row = (op.attrs.Int(2) - op.attrs.Int(1)) * inner;
  return {
      .rows = x.Product(0, axis),
      .out_row = out_row,
      .pieces = {
          {.input = 0, .out_begin = 0, .in_begin = op.attrs.Int(1) * inner, .length = out_row, .in_row = RowLength(x, axis)}}};
}

RowPieces PiecesOfPad(const OpInstance& op) {
  const int axis = static_cast<int>(op.attrs.Int(0));
  const Shape& x = op.in[0].shape;
  const std::int64_t inner = x.Product(axis + 1, x.rank());
  const std::int64_t in_row = RowLength(x, axis);
  return {.rows = x.Product(0, axis),
          .out_row = RowLength(op.out[0].shape, axis),
          .pieces = {{.input = 0, .out_begin = op.attrs.Int(1) * inner, .in_begin = 0, .length = in_row, .in_row = in_row}}};
}

RowPieces PiecesOfConcat(const OpInstance& op) {
  const int axis = static_cast<int>(op.attrs.Int(0));
  RowPieces result{.rows = op.out[0].shape.Product(0, axis), .out_row = 0, .pieces = {}};
  for (std::size_t k = 0; k < op.in.size(); ++k) {
    const std::int64_t in_row = RowLength(op.in[k].shape, axis);
    result.pieces.push_back(
        {.input = static_cast<int>(k), .out_begin = result.out_row, .in_begin = 0, .length = in_row, .in_row = in_row});
    result.out_row += in_row;
  }
  return result;
}

std::vector<TransposeAxis> AxesOfTranspose(const OpInstance& op) {
  const std::vector<std::int64_t>& perm = op.attrs.Ints(0);
  const Shape& in = op.in[0].shape;
  std::vector<TransposeAxis> axes;
  std::int64_t out_stride = op.out[0].elements();
  for (std::int64_t from : perm) {
    const int axis = static_cast<int>(from);
    if (in[axis] == 1) continue;
    const TransposeAxis next{.extent = in[axis], .in_stride = in.Product(axis + 1, in.rank()), .out_stride = 0};
    if (!axes.empty() && axes.back().in_stride == next.in_stride * next.extent) {
      axes.back().extent *= next.extent;
      axes.back().in_stride = next.in_stride;
    } else {
      axes.push_back(next);
    }
  }
  for (TransposeAxis& axis : axes) {
    if (axis.extent > 0) out_stride /= axis.extent;
    axis.out_stride = out_stride;
  }
  return axes;
}

}  // namespace assay::ops
