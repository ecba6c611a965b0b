// Sums down the columns of a matrix on the device, in double or Near, and elements that need something of their column.
//
// Blocks of threads are tiles of 32 columns, one for each lane, and 8 warps, which take every eighth row of a chunk. The warps' sums are added one after the other, and wait in memory as rounded::Accumulator;
// FinishColumns adds those of the chunks in the same way. For .cu files alone.
//
// Order: a chunk has R rows, 32 <= R <= 512, hence a thread at most 64 of them. With m = ⌈n/8R⌉ a term passes through at most 63 + 7 + SumDepth(m) - 1 + 7 additions. m <= ⌈n/128⌉, so
// that for n > 128 SumDepth(n) = 128 + SumDepth(⌈n/128⌉) is more.
//
// An Op of LaunchColumnSums has kSums, the sums that it takes at once, the type Number of their terms, Prepare(c), what it needs of column c, and Add(sums, column, row, i), which adds the terms of element i in
// row `row`. Finish(c, totals) gets a column's sums. An Op of LaunchColumnElements has Prepare(c), Load(i), which reads an Input, and Put(i, column, input).
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/backend/cublas/sums-inl.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/semantics/rounded/column_sum.h"

namespace assay::cublas {

using rounded::Accumulator;

inline constexpr int kTile = 32, kTileRows = 8;

// How a matrix is cut. Blocks are numbered along the tiles first.
struct ColumnCut {
  std::int64_t rows = 0, cols = 0;
  std::int64_t chunk_rows = 0, chunks = 0, tiles = 0;
  unsigned grid() const { return static_cast<unsigned>(tiles * chunks); }
};

inline ColumnCut CutRows(std::int64_t rows, std::int64_t cols, std::int64_t chunk_rows) {
  return {rows, cols, chunk_rows, std::max<std::int64_t>(1, cuda::CeilDiv(rows, chunk_rows)), cuda::CeilDiv(cols, kTile)};
}

// The longest chunks that give every multiprocessor a few blocks.
inline ColumnCut CutForSums(std::int64_t rows, std::int64_t cols, const Context& context) {
  std::int64_t chunk_rows = 512;
  while (chunk_rows > 32 && cuda::CeilDiv(rows, chunk_rows) * cuda::CeilDiv(cols, kTile) < 4 * context.multiprocessors())
    chunk_rows /= 2;
  return CutRows(rows, cols, chunk_rows);
}

// The block's place in a cut.
struct ColumnPlace {
  std::int64_t c, first, end;  // the thread's column and rows: first, first + kTileRows, ... below end
  std::int64_t chunk;
  __device__ explicit ColumnPlace(const ColumnCut& cut) {
    chunk = blockIdx.x / cut.tiles;
    c = blockIdx.x % cut.tiles * kTile + threadIdx.x;
    first = chunk * cut.chunk_rows + threadIdx.y;
    end = (chunk + 1) * cut.chunk_rows < cut.rows ? (chunk + 1) * cut.chunk_rows : cut.rows;
  }
};

// The sum of the warps' accumulators for a column, in the first warp. Every thread must take part.
template <class T>
__device__ __forceinline__ Accumulator<T> AddWarps(const Accumulator<T>& own) {
  __shared__ double memory[kTileRows * kTile * (sizeof(Accumulator<T>) / sizeof(double))];
  auto* places = reinterpret_cast<Accumulator<T>*>(memory);
  __syncthreads();  // what was there has been read
  places[threadIdx.y * kTile + threadIdx.x] = own;
  __syncthreads();
  Accumulator<T> sum = own;
  if (threadIdx.y == 0) {
    for (int warp = 1; warp < kTileRows; ++warp) sum += places[warp * kTile + threadIdx.x];
  }
  return sum;
}

// parts: [kSums][chunks][cols]
template <class Op>
__global__ void __launch_bounds__(kTile* kTileRows)
    SumChunks(const __grid_constant__ Op op, ColumnCut cut, Accumulator<typename Op::Number>* parts) {
  using T = typename Op::Number;
  const ColumnPlace place(cut);
  const bool inside = place.c < cut.cols;
  Accumulator<T> sums[Op::kSums];
  if (inside) {
    const auto column = op.Prepare(place.c);
#pragma unroll 4
    for (std::int64_t row = place.first; row < place.end; row += kTileRows) op.Add(sums, column, row, row * cut.cols + place.c);
  }
#pragma unroll
  for (int s = 0; s < Op::kSums; ++s) {
    const Accumulator<T> sum = AddWarps<T>(sums[s]);
    if (inside && threadIdx.y == 0) parts[(s * cut.chunks + place.chunk) * cut.cols + place.c] = sum;
  }
}

template <class T, int kSums, class Finish>
__global__ void __launch_bounds__(kTile* kTileRows)
    FinishColumns(const __grid_constant__ Finish finish, ColumnCut cut, const Accumulator<T>* parts, double depth) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const bool inside = c < cut.cols;
  T totals[kSums];
#pragma unroll
  for (int s = 0; s < kSums; ++s) {
    const auto part = [&](std::int64_t chunk) { return parts[(s * cut.chunks + chunk) * cut.cols + c]; };
    const Accumulator<T> own = SumOwn<Accumulator<T>>(threadIdx.y, inside ? cut.chunks : 0, kTileRows, part);
    totals[s] = AddWarps<T>(own).Total(depth);
  }
  if (inside && threadIdx.y == 0) finish(c, totals);
}

// Accumulators that wait in memory between the two kernels.
inline std::int64_t PartsOf(const ColumnCut& cut, int sums) { return sums * cut.chunks * cut.cols; }

// `parts` is room for PartsOf accumulators.
template <class Op, class Finish>
void LaunchColumnSums(const Op& op, const Finish& finish, const ColumnCut& cut, Accumulator<typename Op::Number>* parts,
                      Context& context, const char* name) {
  if (cut.cols == 0) return;
  const dim3 threads(kTile, kTileRows);
  SumChunks<<<cut.grid(), threads, 0, context.stream()>>>(op, cut, parts);
  cuda::CheckLaunch(name);
  FinishColumns<typename Op::Number, Op::kSums>
      <<<static_cast<unsigned>(cut.tiles), threads, 0, context.stream()>>>(finish, cut, parts, rounded::ColumnDepth(cut.rows));
  cuda::CheckLaunch(name);
}

// Where sums are all that is wanted.
template <class Op, class Finish>
void RunColumnSums(const Op& op, const Finish& finish, std::int64_t rows, std::int64_t cols, Context& context,
                   const char* name) {
  using Sum = Accumulator<typename Op::Number>;
  const ColumnCut cut = CutForSums(rows, cols, context);
  const auto bytes = static_cast<std::size_t>(PartsOf(cut, Op::kSums)) * sizeof(Sum);
  LaunchColumnSums(op, finish, cut, static_cast<Sum*>(context.Scratch(bytes)), context, name);
}

// Loads of four elements are on their way before the first is put.
template <class Op>
__global__ void __launch_bounds__(kTile* kTileRows) PutColumnElements(const __grid_constant__ Op op, ColumnCut cut) {
  constexpr int kAhead = 4;
  const ColumnPlace place(cut);
  if (place.c >= cut.cols) return;
  const auto column = op.Prepare(place.c);
  for (std::int64_t row = place.first; row < place.end; row += kAhead * kTileRows) {
    typename Op::Input inputs[kAhead];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (row + k * kTileRows < place.end) inputs[k] = op.Load((row + k * kTileRows) * cut.cols + place.c);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      if (row + k * kTileRows < place.end) op.Put((row + k * kTileRows) * cut.cols + place.c, column, inputs[k]);
    }
  }
}

template <class Op>
void LaunchColumnElements(const Op& op, std::int64_t rows, std::int64_t cols, Context& context, const char* name) {
  if (rows == 0 || cols == 0) return;
  const ColumnCut cut = CutRows(rows, cols, 8 * kTileRows);
  PutColumnElements<<<cut.grid(), dim3(kTile, kTileRows), 0, context.stream()>>>(op, cut);
  cuda::CheckLaunch(name);
}

}  // namespace assay::cublas
