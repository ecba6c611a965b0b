// The ops that only move values. Where an element comes from is found once for both formulas and integers (layout.h).
#include "assay/semantics/rounded/layout.h"

#include <vector>

#include "assay/ops/layout_geometry.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {
namespace {

template <class Run>
void TransposeRuns(const OpInstance& op, Range range, Run run) {
  const std::vector<ops::TransposeAxis> axes = ops::AxesOfTranspose(op);
  if (axes.empty()) {
    if (range.size() > 0) run({.to = 0, .input = 0, .from = 0, .step = 1, .length = 1});
    return;
  }
  const ops::TransposeAxis& last = axes.back();
  for (std::int64_t i = range.begin; i < range.end;) {
    const std::int64_t end = std::min(range.end, (i / last.extent + 1) * last.extent);
    std::int64_t from = 0;
    for (const ops::TransposeAxis& axis : axes) from += i / axis.out_stride % axis.extent * axis.in_stride;
    run({.to = i - range.begin, .input = 0, .from = from, .step = last.in_stride, .length = end - i});
    i = end;
  }
}

template <class Run>
void PieceRuns(const ops::RowPieces& view, Range range, Run run) {
  for (std::int64_t i = range.begin; i < range.end;) {
    const std::int64_t row = i / view.out_row, begin = i - row * view.out_row;
    const std::int64_t end = std::min(range.end - row * view.out_row, view.out_row);
    std::int64_t column = begin;
    const auto zeros = [&](std::int64_t until) {
      if (until > column) run({.to = i - range.begin + column - begin, .input = MovedRun::kZeros, .length = until - column});
    };
    for (const ops::RowPiece& piece : view.pieces) {
      const std::int64_t first = std::max(begin, piece.out_begin);
      const std::int64_t last = std::min(end, piece.out_begin + piece.length);
      if (first >= last) continue;
      zeros(first);
      run({.to = i - range.begin + first - begin,
           .input = piece.input,
           .from = row * piece.in_row + piece.in_begin + first - piece.out_begin,
           .step = 1,
           .length = last - first});
      column = last;
    }
    zeros(end);
    i = row * view.out_row + end;
  }
}

template <class T>
auto Mover(const KernelArgs& args, T* out) {
  return [&args, out](const MovedRun& run) {
    if (run.input == MovedRun::kZeros) {
      std::fill(out + run.to, out + run.to + run.length, T(0.0f));
      return;
    }
    const float* x = args.In<float>(static_cast<std::size_t>(run.input)) + run.from;
    for (std::int64_t i = 0; i < run.length; ++i) out[run.to + i] = T(x[i * run.step]);
  };
}

}  // namespace

void ForEachMovedRun(const OpInstance& op, Layout layout, Range range, const std::function<void(const MovedRun&)>& run) {
  switch (layout) {
    case Layout::kTranspose: return TransposeRuns(op, range, run);
    case Layout::kSlice: return PieceRuns(ops::PiecesOfSlice(op), range, run);
    case Layout::kPad: return PieceRuns(ops::PiecesOfPad(op), range, run);
    case Layout::kConcat: return PieceRuns(ops::PiecesOfConcat(op), range, run);
  }
}

template <class T>
void Formula_reshape(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, [](float x) { return T(x); });
}

template <class T>
void Formula_broadcast_to(const KernelArgs& args, int, Range range, T* out) {
  const Shape& from = args.in_type(0).shape;
  const Shape& to = args.out_type(0).shape;
  const float* x = args.In<float>(0);
  const std::int64_t cols = to.rank() > 0 ? to.Back(0) : 1;
  const std::int64_t step = from.rank() > 0 && from.Back(0) != 1 ? 1 : 0;
  ForEachRow(range, cols, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* y) {
    std::int64_t rest = row, index = 0, stride = from.rank() > 0 ? from.Back(0) : 1;
    for (int axis = 1; axis < from.rank(); ++axis) {  // from the last but one to the first
      if (from.Back(axis) != 1) index += rest % to.Back(axis) * stride;
      rest /= to.Back(axis);
      stride *= from.Back(axis);
    }
    for (std::int64_t c = begin; c < end; ++c) y[c - begin] = T(x[index + c * step]);
  });
}

template <class T>
void Formula_transpose(const KernelArgs& args, int, Range range, T* out) {
  TransposeRuns(*args.op, range, Mover(args, out));
}

template <class T>
void Formula_slice(const KernelArgs& args, int, Range range, T* out) {
  PieceRuns(ops::PiecesOfSlice(*args.op), range, Mover(args, out));
}

template <class T>
void Formula_pad(const KernelArgs& args, int, Range range, T* out) {
  PieceRuns(ops::PiecesOfPad(*args.op), range, Mover(args, out));
}

template <class T>
void Formula_concat(const KernelArgs& args, int, Range range, T* out) {
  PieceRuns(ops::PiecesOfConcat(*args.op), range, Mover(args, out));
}

ASSAY_FORMULA(reshape);
ASSAY_FORMULA(broadcast_to);
ASSAY_FORMULA(transpose);
ASSAY_FORMULA(slice);
ASSAY_FORMULA(pad);
ASSAY_FORMULA(concat);

}  // namespace assay::rounded
