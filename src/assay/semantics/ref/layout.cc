// transpose, slice, pad, concat: each output element is one input element, or +0.
#include <cstring>

#include "assay/ops/layout_geometry.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {
namespace {

void CopyElement(const KernelArgs& args, std::int64_t to, std::size_t input, std::int64_t from) {
  const std::size_t size = SizeOf(args.out_type(0).dtype);
  std::memcpy(args.Out<char>(0) + static_cast<std::size_t>(to) * size,
              args.In<char>(input) + static_cast<std::size_t>(from) * size, size);
}

void CopyRows(const KernelArgs& args, const ops::RowPieces& view, Range range) {
  const std::size_t size = SizeOf(args.out_type(0).dtype);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    std::memset(args.Out<char>(0) + static_cast<std::size_t>(i) * size, 0, size);
    const std::int64_t row = i / view.out_row, column = i % view.out_row;
    for (const ops::RowPiece& piece : view.pieces) {
      if (column < piece.out_begin || column >= piece.out_begin + piece.length) continue;
      CopyElement(args, i, static_cast<std::size_t>(piece.input),
                  row * piece.in_row + piece.in_begin + column - piece.out_begin);
    }
  }
}

}  // namespace

void Ref_transpose(const KernelArgs& args, int, Range range) {
  const std::vector<std::int64_t>& perm = args.attrs().Ints(0);
  const Shape& in = args.in_type(0).shape;
  const Shape& out = args.out_type(0).shape;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    std::int64_t from = 0;
    for (int axis = 0; axis < out.rank(); ++axis) {
      const std::int64_t index = i / out.Product(axis + 1, out.rank()) % out[axis];
      from += index * in.Product(static_cast<int>(perm[static_cast<std::size_t>(axis)]) + 1, in.rank());
    }
    CopyElement(args, i, 0, from);
  }
}

void Ref_slice(const KernelArgs& args, int, Range range) { CopyRows(args, ops::PiecesOfSlice(*args.op), range); }
void Ref_pad(const KernelArgs& args, int, Range range) { CopyRows(args, ops::PiecesOfPad(*args.op), range); }
void Ref_concat(const KernelArgs& args, int, Range range) { CopyRows(args, ops::PiecesOfConcat(*args.op), range); }

}  // namespace assay::ref
