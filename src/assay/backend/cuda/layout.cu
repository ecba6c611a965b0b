// Kernels of transpose, slice, pad and concat. They move bits of any element type, 16 bytes at a time where all distances allow
// it, and only f32 has NaNs that become canonical on the way.
#include <array>
#include <vector>

#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/ops/layout_geometry.h"

namespace assay::cuda {
namespace {

constexpr int kMaxLayoutThreads = 1024;

template <class T>
__device__ __forceinline__ T Moved(T bits, bool) {
  return bits;
}
template <>
__device__ __forceinline__ std::uint32_t Moved(std::uint32_t bits, bool is_float) {
  return is_float && (bits & 0x7fffffffu) > 0x7f800000u ? numerics::kCanonicalNan : bits;
}
template <>
__device__ __forceinline__ uint4 Moved(uint4 bits, bool is_float) {
  return {Moved(bits.x, is_float), Moved(bits.y, is_float), Moved(bits.z, is_float), Moved(bits.w, is_float)};
}

// Calls run(T{}) with the unsigned type T of `bytes` bytes.
template <class Run>
void WithUnit(std::size_t bytes, const Run& run) {
  switch (bytes) {
    case 1: return run(std::uint8_t{});
    case 2: return run(std::uint16_t{});
    case 4: return run(std::uint32_t{});
    case 8: return run(std::uint64_t{});
    default: return run(uint4{});
  }
}

// Runs of columns of a matrix, each from an input or, where `in` is null, zero. All numbers count units.
template <class Index>
struct Runs {
  static constexpr int kMost = 48;
  struct Run {
    const void* in = nullptr;
    std::int64_t in_begin = 0, in_row = 0, out_begin = 0;
    Index total = 0;        // over all rows
    Divisor<Index> length;  // of one row
  };
  Run run[kMost];
};

template <class T, class Index>
__global__ void __launch_bounds__(kMaxLayoutThreads, 1)
    CopyRuns(const __grid_constant__ Runs<Index> runs, T* out, std::int64_t out_row, bool is_float) {
  const auto& run = runs.run[blockIdx.y];
  const T* in = static_cast<const T*>(run.in);
#pragma unroll 4
  for (Index i = GlobalThread<Index>(); i < run.total; i += GlobalThreads<Index>()) {
    Index column;
    const std::int64_t row = static_cast<std::int64_t>(run.length.Divide(i, column));
    T value{};
    if (in != nullptr) value = Moved(__ldg(in + run.in_begin + row * run.in_row + static_cast<std::int64_t>(column)), is_float);
    out[run.out_begin + row * out_row + static_cast<std::int64_t>(column)] = value;
  }
}

// Pieces with the zeros between them.
std::vector<ops::RowPiece> WithZeros(const ops::RowPieces& view) {
  std::vector<ops::RowPiece> runs;
  std::int64_t at = 0;
  const auto zeros_until = [&](std::int64_t end) {
    if (end > at) runs.push_back({.input = -1, .out_begin = at, .in_begin = 0, .length = end - at, .in_row = 0});
    at = end;
  };
  for (const ops::RowPiece& piece : view.pieces) {
    zeros_until(piece.out_begin);
    if (piece.length > 0) runs.push_back(piece);
    at = piece.out_begin + piece.length;
  }
  zeros_until(view.out_row);
  return runs;
}

template <class T, class Index>
void LaunchRuns(const KernelArgs& args, const std::vector<ops::RowPiece>& pieces, const ops::RowPieces& view, std::int64_t unit,
                Context& context) {
  const int threads = ThreadsOr(context, 256, kMaxLayoutThreads);
  for (std::size_t begin = 0; begin < pieces.size(); begin += Runs<Index>::kMost) {
    const std::size_t count = std::min<std::size_t>(pieces.size() - begin, Runs<Index>::kMost);
    Runs<Index> runs;
    std::int64_t longest = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const ops::RowPiece& piece = pieces[begin + k];
      runs.run[k] = {.in = piece.input < 0 ? nullptr : args.in[static_cast<std::size_t>(piece.input)],
                     .in_begin = piece.in_begin / unit,
                     .in_row = piece.in_row / unit,
                     .out_begin = piece.out_begin / unit,
                     .total = static_cast<Index>(view.rows * (piece.length / unit)),
                     .length = Divisor<Index>(piece.length / unit)};
      longest = std::max(longest, view.rows * (piece.length / unit));
    }
    const dim3 grid(GridFor(longest, 4 * threads), static_cast<unsigned>(count));
    CopyRuns<T, Index><<<grid, threads, 0, context.stream()>>>(runs, args.Out<T>(0), view.out_row / unit,
                                                               args.out_type(0).dtype == DType::kF32);
    CheckLaunch("copy of rows");
  }
}

void CopyRows(const KernelArgs& args, const ops::RowPieces& view, Context& context) {
  if (view.rows == 0 || view.out_row == 0) return;
  const std::vector<ops::RowPiece> pieces = WithZeros(view);
  const auto size = static_cast<std::int64_t>(SizeOf(args.out_type(0).dtype));
  // Elements that move together: as many as make 16 bytes, if every distance is a multiple of them.
  std::int64_t unit = 16 / size;
  const auto odd = [&](std::int64_t distance) { return distance % unit != 0; };
  for (const ops::RowPiece& p : pieces) {
    if (odd(p.out_begin) || odd(p.in_begin) || odd(p.length) || odd(p.in_row) || odd(view.out_row)) unit = 1;
  }
  WithUnit(static_cast<std::size_t>(unit * size), [&](auto t) {
    using T = decltype(t);
    if (FitsIndex32(args.out_type(0).elements())) {
      LaunchRuns<T, std::uint32_t>(args, pieces, view, unit, context);
    } else {
      LaunchRuns<T, std::uint64_t>(args, pieces, view, unit, context);
    }
  });
}

// Output axes, outermost first.
template <class Index>
struct Axes {
  int count = 0;
  Divisor<Index> extent[Shape::kMaxRank];
  std::int64_t in_stride[Shape::kMaxRank] = {};
};

// The innermost axis of input and output is the same: neighbours stay neighbours.
template <class T, class Index>
__global__ void __launch_bounds__(kMaxLayoutThreads, 1)
    Gather(const __grid_constant__ Axes<Index> axes, const T* in, T* out, Index total, bool is_float) {
  for (Index i = GlobalThread<Index>(); i < total; i += GlobalThreads<Index>()) {
    Index left = i;
    std::int64_t from = 0;
    for (int axis = axes.count; axis-- > 0;) {
      Index index;
      left = axes.extent[axis].Divide(left, index);
      from += static_cast<std::int64_t>(index) * axes.in_stride[axis];
    }
    out[i] = Moved(__ldg(in + from), is_float);
  }
}

template <class T>
void LaunchGather(const KernelArgs& args, std::vector<ops::TransposeAxis> axes, std::int64_t unit, Context& context) {
  axes.back().extent /= unit;
  for (std::size_t k = 0; k + 1 < axes.size(); ++k) axes[k].in_stride /= unit;
  const std::int64_t total = args.out_type(0).elements() / unit;
  const int threads = ThreadsOr(context, 256, kMaxLayoutThreads);
  const auto launch = [&](auto index) {
    using Index = decltype(index);
    Axes<Index> to;
    to.count = static_cast<int>(axes.size());
    for (std::size_t k = 0; k < axes.size(); ++k) {
      to.extent[k] = Divisor<Index>(axes[k].extent);
      to.in_stride[k] = axes[k].in_stride;
    }
    Gather<T, Index><<<GridFor(total, threads), threads, 0, context.stream()>>>(
        to, args.In<T>(0), args.Out<T>(0), static_cast<Index>(total), args.out_type(0).dtype == DType::kF32);
  };
  if (FitsIndex32(total)) {
    launch(std::uint32_t{});
  } else {
    launch(std::uint64_t{});
  }
  CheckLaunch("transpose");
}

// `from`: the axis whose elements are neighbours in the input; `to`: those in the output; the others number the matrices.
template <class Index>
struct Tiles {
  ops::TransposeAxis from, to;
  Divisor<Index> tiles_from, tiles_to;
  Index total = 0;
  int others = 0;
  ops::TransposeAxis other[Shape::kMaxRank];
  Divisor<Index> other_extent[Shape::kMaxRank];
};

constexpr int kTile = 32;

template <class T, class Index>
__global__ void __launch_bounds__(kMaxLayoutThreads, 1)
    TransposeTiles(const __grid_constant__ Tiles<Index> tiles, const T* in, T* out, bool is_float) {
  __shared__ T tile[kTile][kTile + 1];
  for (Index number = blockIdx.x; number < tiles.total; number += gridDim.x) {
    Index from, to, index;
    Index matrix = tiles.tiles_to.Divide(tiles.tiles_from.Divide(number, from), to);
    std::int64_t in_base = 0, out_base = 0;
    for (int axis = tiles.others; axis-- > 0;) {
      matrix = tiles.other_extent[axis].Divide(matrix, index);
      in_base += static_cast<std::int64_t>(index) * tiles.other[axis].in_stride;
      out_base += static_cast<std::int64_t>(index) * tiles.other[axis].out_stride;
    }
    const std::int64_t f0 = static_cast<std::int64_t>(from) * kTile, t0 = static_cast<std::int64_t>(to) * kTile;
    const int froms = static_cast<int>(tiles.from.extent - f0 < kTile ? tiles.from.extent - f0 : kTile);
    const int tos = static_cast<int>(tiles.to.extent - t0 < kTile ? tiles.to.extent - t0 : kTile);
    const int x = static_cast<int>(threadIdx.x), y0 = static_cast<int>(threadIdx.y);
    const T* source = in + in_base + t0 * tiles.to.in_stride + f0 + x;
    T* target = out + out_base + f0 * tiles.from.out_stride + t0 + x;
#pragma unroll 4
    for (int y = y0; y < tos; y += static_cast<int>(blockDim.y)) {
      if (x < froms) tile[y][x] = Moved(__ldg(source + y * tiles.to.in_stride), is_float);
    }
    __syncthreads();
#pragma unroll 4
    for (int y = y0; y < froms; y += static_cast<int>(blockDim.y)) {
      if (x < tos) target[y * tiles.from.out_stride] = tile[x][y];
    }
    __syncthreads();
  }
}

template <class Index>
void LaunchTilesOf(const KernelArgs& args, const std::vector<ops::TransposeAxis>& axes, std::int64_t total, Context& context) {
  Tiles<Index> tiles;
  tiles.to = axes.back();
  for (std::size_t k = 0; k + 1 < axes.size(); ++k) {
    if (axes[k].in_stride == 1) {
      tiles.from = axes[k];
    } else {
      tiles.other_extent[tiles.others] = Divisor<Index>(axes[k].extent);
      tiles.other[tiles.others++] = axes[k];
    }
  }
  tiles.tiles_from = Divisor<Index>(CeilDiv(tiles.from.extent, kTile));
  tiles.tiles_to = Divisor<Index>(CeilDiv(tiles.to.extent, kTile));
  tiles.total = static_cast<Index>(total);
  const dim3 threads(kTile, static_cast<unsigned>(ThreadsOr(context, 256, kMaxLayoutThreads) / kTile));
  WithUnit(SizeOf(args.out_type(0).dtype), [&](auto t) {
    using T = decltype(t);
    TransposeTiles<T, Index><<<GridFor(total, 1), threads, 0, context.stream()>>>(tiles, args.In<T>(0), args.Out<T>(0),
                                                                                  args.out_type(0).dtype == DType::kF32);
  });
  CheckLaunch("transpose");
}

void LaunchTiles(const KernelArgs& args, const std::vector<ops::TransposeAxis>& axes, Context& context) {
  std::int64_t total = CeilDiv(axes.back().extent, kTile);
  for (std::size_t k = 0; k + 1 < axes.size(); ++k)
    total *= axes[k].in_stride == 1 ? CeilDiv(axes[k].extent, kTile) : axes[k].extent;
  // The grid's size is added to a number that is below the total.
  if (FitsIndex32(total + kMaxGrid)) {
    LaunchTilesOf<std::uint32_t>(args, axes, total, context);
  } else {
    LaunchTilesOf<std::uint64_t>(args, axes, total, context);
  }
}

}  // namespace

void Run_transpose(const KernelArgs& args, Context& context) {
  if (args.out_type(0).elements() == 0) return;
  std::vector<ops::TransposeAxis> axes = ops::AxesOfTranspose(*args.op);
  if (axes.empty()) axes.push_back({});
  if (axes.back().in_stride != 1) {
    LaunchTiles(args, axes, context);
    return;
  }
  const auto size = static_cast<std::int64_t>(SizeOf(args.out_type(0).dtype));
  const std::int64_t unit = axes.back().extent % (16 / size) == 0 ? 16 / size : 1;
  WithUnit(static_cast<std::size_t>(unit * size), [&](auto t) { LaunchGather<decltype(t)>(args, axes, unit, context); });
}

void Run_slice(const KernelArgs& args, Context& context) { CopyRows(args, ops::PiecesOfSlice(*args.op), context); }
void Run_pad(const KernelArgs& args, Context& context) { CopyRows(args, ops::PiecesOfPad(*args.op), context); }
void Run_concat(const KernelArgs& args, Context& context) { CopyRows(args, ops::PiecesOfConcat(*args.op), context); }

}  // namespace assay::cuda
