// transpose, slice, pad, concat: runs of neighbours are copied as vectors, exchanged axes in blocks of 4 x 4 held in registers. f32 values
// pass through registers so that NaNs become canonical; other types are moved as bytes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/layout.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <cstring>

#include "assay/backend/cpu/kernels.h"
#include "assay/numerics/scalar.h"
#include "assay/ops/layout_geometry.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace layout {

constexpr std::int64_t kGrainBytes = 1 << 16;

template <class D>
HWY_INLINE hn::Vec<D> Canonical(D d, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(d, hn::Set(du, numerics::kCanonicalNan)), x);
}

void CopyF32(const float* from, float* to, std::int64_t n) {
  const hn::ScalableTag<float> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(Canonical(d, hn::LoadU(d, from + i)), d, to + i);
  for (; i < n; ++i) to[i] = numerics::CanonicalNan(from[i]);
}

void Copy(DType dtype, const char* from, char* to, std::int64_t elements) {
  if (dtype == DType::kF32) {
    CopyF32(reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to), elements);
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(elements) * SizeOf(dtype));
  }
}

// Columns [begin, end) of one output row.
void CopyColumns(const KernelArgs& args, const ops::RowPieces& view, std::int64_t row, std::int64_t begin, std::int64_t end) {
  const DType dtype = args.out_type(0).dtype;
  const std::int64_t size = static_cast<std::int64_t>(SizeOf(dtype));
  char* out = args.Out<char>(0) + row * view.out_row * size;
  const auto zeros = [&](std::int64_t first, std::int64_t last) {
    if (first < last) std::memset(out + first * size, 0, static_cast<std::size_t>((last - first) * size));
  };
  std::int64_t done = begin;
  for (const ops::RowPiece& piece : view.pieces) {
    const std::int64_t first = std::max(done, piece.out_begin);
    const std::int64_t last = std::min(end, piece.out_begin + piece.length);
    if (first >= last) continue;
    zeros(done, first);
    const std::int64_t from = row * piece.in_row + piece.in_begin + first - piece.out_begin;
    Copy(dtype, args.In<char>(static_cast<std::size_t>(piece.input)) + from * size, out + first * size, last - first);
    done = last;
  }
  zeros(done, end);
}

void CopyRows(const KernelArgs& args, const ops::RowPieces& view, Context& context) {
  const std::int64_t grain = kGrainBytes / static_cast<std::int64_t>(SizeOf(args.out_type(0).dtype));
  context.pool().ParallelFor(args.out_type(0).elements(), grain, [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t i = begin; i < end;) {
      const std::int64_t row = i / view.out_row;
      const std::int64_t row_end = std::min(end, (row + 1) * view.out_row);
      CopyColumns(args, view, row, i - row * view.out_row, row_end - row * view.out_row);
      i = row_end;
    }
  });
}

// out[r * out_stride + c] = in[c * in_stride + r] for a 4 x 4 block.
HWY_INLINE void Transpose4x4(const float* in, std::int64_t in_stride, float* out, std::int64_t out_stride) {
  const hn::Full128<float> d;
  const hn::Full128<double> d2;
  const auto a = Canonical(d, hn::LoadU(d, in));
  const auto b = Canonical(d, hn::LoadU(d, in + in_stride));
  const auto c = Canonical(d, hn::LoadU(d, in + 2 * in_stride));
  const auto e = Canonical(d, hn::LoadU(d, in + 3 * in_stride));
  const auto ab_low = hn::BitCast(d2, hn::InterleaveLower(d, a, b));
  const auto ab_high = hn::BitCast(d2, hn::InterleaveUpper(d, a, b));
  const auto ce_low = hn::BitCast(d2, hn::InterleaveLower(d, c, e));
  const auto ce_high = hn::BitCast(d2, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, ab_low, ce_low)), d, out);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, ab_low, ce_low)), d, out + out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(d2, ab_high, ce_high)), d, out + 2 * out_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(d2, ab_high, ce_high)), d, out + 3 * out_stride);
}

// out[r * out_stride + c] = in[c * in_stride + r], r < rows, c < columns.
void TransposeF32(const float* in, std::int64_t in_stride, float* out, std::int64_t out_stride, std::int64_t rows,
                  std::int64_t columns) {
  const auto scalar = [&](std::int64_t r, std::int64_t c) {
    out[r * out_stride + c] = numerics::CanonicalNan(in[c * in_stride + r]);
  };
  constexpr std::int64_t kTile = 32;  // columns per pass, so that a row of the output is written in whole cache lines
  for (std::int64_t c0 = 0; c0 < columns; c0 += kTile) {
    const std::int64_t c1 = std::min(columns, c0 + kTile);
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      std::int64_t c = c0;
      for (; c + 4 <= c1; c += 4) Transpose4x4(in + c * in_stride + r, in_stride, out + r * out_stride + c, out_stride);
      for (; c < c1; ++c) {
        for (std::int64_t k = 0; k < 4; ++k) scalar(r + k, c);
      }
    }
    for (; r < rows; ++r) {
      for (std::int64_t c = c0; c < c1; ++c) scalar(r, c);
    }
  }
}

void TransposeBytes(const char* in, std::int64_t in_stride, char* out, std::int64_t out_stride, std::int64_t rows,
                    std::int64_t columns, std::int64_t size) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      std::memcpy(out + (r * out_stride + c) * size, in + (c * in_stride + r) * size, static_cast<std::size_t>(size));
    }
  }
}

// A transposition as independent planes: an output plane has rows along the axis that is innermost in the input (stride 1) and columns along the
// output's innermost axis. Where those are the same axis, a plane is one run.
struct Planes {
  std::vector<ops::TransposeAxis> outer;
  ops::TransposeAxis row;     // the input's innermost axis; extent 1 where the plane is a run
  ops::TransposeAxis column;  // the output's innermost axis
  std::int64_t count = 1;
};

Planes PlanesOf(const std::vector<ops::TransposeAxis>& axes) {
  Planes planes;
  planes.column = axes.back();
  for (std::size_t k = 0; k + 1 < axes.size(); ++k) {
    if (axes[k].in_stride == 1) {
      planes.row = axes[k];
    } else {
      planes.outer.push_back(axes[k]);
      planes.count *= axes[k].extent;
    }
  }
  return planes;
}

void RunPlane(const KernelArgs& args, const Planes& planes, std::int64_t plane, std::int64_t row_begin, std::int64_t row_end) {
  const DType dtype = args.out_type(0).dtype;
  const std::int64_t size = static_cast<std::int64_t>(SizeOf(dtype));
  std::int64_t from = row_begin * planes.row.in_stride;
  std::int64_t to = row_begin * planes.row.out_stride;
  for (std::size_t k = planes.outer.size(); k-- > 0;) {
    const ops::TransposeAxis& axis = planes.outer[k];
    from += plane % axis.extent * axis.in_stride;
    to += plane % axis.extent * axis.out_stride;
    plane /= axis.extent;
  }
  const char* in = args.In<char>(0) + from * size;
  char* out = args.Out<char>(0) + to * size;
  const std::int64_t rows = row_end - row_begin;
  if (planes.column.in_stride == 1) {
    Copy(dtype, in, out, planes.column.extent);
  } else if (dtype == DType::kF32) {
    TransposeF32(reinterpret_cast<const float*>(in), planes.column.in_stride, reinterpret_cast<float*>(out),
                 planes.row.out_stride, rows, planes.column.extent);
  } else {
    TransposeBytes(in, planes.column.in_stride, out, planes.row.out_stride, rows, planes.column.extent, size);
  }
}

}  // namespace layout

void Run_transpose(const KernelArgs& args, Context& context) {
  if (args.out_type(0).elements() == 0) return;
  std::vector<ops::TransposeAxis> axes = ops::AxesOfTranspose(*args.op);
  if (axes.empty()) axes.push_back({});
  const layout::Planes planes = layout::PlanesOf(axes);
  constexpr std::int64_t kRows = 64;  // of a plane handed to one thread
  const std::int64_t strips = (planes.row.extent + kRows - 1) / kRows;
  const std::int64_t strip_elements = std::min(kRows, planes.row.extent) * planes.column.extent;
  const std::int64_t grain = std::max<std::int64_t>(1, layout::kGrainBytes / (4 * strip_elements));
  context.pool().ParallelFor(planes.count * strips, grain, [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i % strips * kRows;
      layout::RunPlane(args, planes, i / strips, row, std::min(row + kRows, planes.row.extent));
    }
  });
}

void Run_slice(const KernelArgs& args, Context& context) { layout::CopyRows(args, ops::PiecesOfSlice(*args.op), context); }
void Run_pad(const KernelArgs& args, Context& context) { layout::CopyRows(args, ops::PiecesOfPad(*args.op), context); }
void Run_concat(const KernelArgs& args, Context& context) { layout::CopyRows(args, ops::PiecesOfConcat(*args.op), context); }

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
