// Where the elements of layout ops come from, derived once for the dependencies and every kernel.
//
// slice, pad and concat see their output as rows; each input supplies one run of columns of every row and the rest is zero (RowPieces).
// transpose sees axes with strides, merged where neighbours stay neighbours (TransposeGeometry). Pure; thread safe.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/graph/op_def.h"

namespace assay::ops {

// Of every output row, columns [out_begin, out_begin + length) are columns [in_begin, ...) of the same row of `input`.
struct RowPiece {
  int input = 0;
  std::int64_t out_begin = 0, in_begin = 0, length = 0;
  std::int64_t in_row = 0;  // elements of a row of the input
};

struct RowPieces {
  std::int64_t rows = 0, out_row = 0;
  std::vector<RowPiece> pieces;  // ascending, disjoint
};

RowPieces PiecesOfSlice(const OpInstance& op);
RowPieces PiecesOfPad(const OpInstance& op);
RowPieces PiecesOfConcat(const OpInstance& op);

struct TransposeAxis {
  std::int64_t extent = 1, in_stride = 1, out_stride = 1;
};

// The output's axes, outermost first, without axes of extent 1; empty for a single element.
std::vector<TransposeAxis> AxesOfTranspose(const OpInstance& op);

}  // namespace assay::ops
