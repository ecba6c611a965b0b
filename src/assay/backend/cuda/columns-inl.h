// Reductions of columns on the GPU (docs/NUMERICS.md, section 2: colsum, coldot).
//
// A thread sums one block of 64 rows of one column, and a thread block a chunk: up to 64 such blocks of a tile of 8, 16 or 32
// columns, whose sums it adds by the same rule in shared memory. So up to 4096 rows take one launch; with more, the sums of
// chunks go through memory and are added by whoever needs the total (ColumnTotal).
//
// An Op has kSums, the sums it takes at once; Prepare(c), what it needs of a column; Step(acc, column, row, i), which takes
// element i, in row `row`, into the accumulators; Finish(c, sums), which stores a column's result when there is one chunk and no
// memory for its sums. A step is called for rows that exist alone. For .cu files alone.
#pragma once

#include <cstdint>

#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/numerics/device-inl.h"
#include "assay/numerics/reduce.h"

namespace assay::cuda {

using numerics::kColumnBlock;
using numerics::device::Device;

inline constexpr int kMaxTile = 32;
inline constexpr int kMaxColumnThreads = 512;

// How a matrix is cut. Blocks of threads are [tile columns, thread rows], numbered along the tiles first.
struct ColumnGrid {
  std::int64_t rows = 0, cols = 0;
  std::int64_t blocks = 0, chunks = 0;  // of each column
  std::int64_t tiles = 0;
  int tile = 0, thread_rows = 0;

  dim3 threads() const { return dim3(static_cast<unsigned>(tile), static_cast<unsigned>(thread_rows)); }
  unsigned grid() const { return static_cast<unsigned>(tiles * chunks); }
};

// The widest tiles that still give nearly every multiprocessor something to do.
inline ColumnGrid GridOfColumns(std::int64_t rows, std::int64_t cols, const Context& context) {
  ColumnGrid g{.rows = rows, .cols = cols, .blocks = CeilDiv(rows, kColumnBlock)};
  g.chunks = std::max<std::int64_t>(1, CeilDiv(g.blocks, kColumnBlock));
  g.tile = kMaxTile;
  while (g.tile > 8 && g.chunks * CeilDiv(cols, g.tile) < context.multiprocessors() * 9 / 10) g.tile /= 2;
  g.tiles = CeilDiv(cols, g.tile);
  const int threads = ThreadsOr(context, kMaxColumnThreads, kMaxColumnThreads);
  g.thread_rows =
      static_cast<int>(std::clamp<std::int64_t>(g.blocks, 1, std::min<std::int64_t>(kColumnBlock, threads / g.tile)));
  return g;
}

template <int S>
struct ChunkSums {
  float block[S][kColumnBlock][kMaxTile];
};

// One thread: terms read by term(j, sums of a term), 0 <= j < count, by the columns' rule. Up to 64^6 of them.
template <int S, class Term>
__device__ __forceinline__ void SumColumnOf(std::int64_t count, float (&sum)[S], const Term& term) {
  constexpr int kLevels = 6;
  float level[kLevels][S] = {};
  for (std::int64_t begin = 0; begin < count; begin += kColumnBlock) {
    float(&acc)[S] = level[0];
    const std::int64_t end = begin + kColumnBlock < count ? begin + kColumnBlock : count;
#pragma unroll 8
    for (std::int64_t j = begin; j < end; ++j) {
      float value[S];
      term(j, value);
#pragma unroll
      for (int s = 0; s < S; ++s) acc[s] = __fadd_rn(acc[s], value[s]);
    }
    if (count <= kColumnBlock) break;
    // A level that is complete goes into the one above, unless it is the last one needed.
    std::int64_t span = kColumnBlock;
    bool carries = true;
#pragma unroll
    for (int l = 0; l + 1 < kLevels; ++l) {
      carries = carries && span < count && (end % span == 0 || end == count);
      if (carries) {
#pragma unroll
        for (int s = 0; s < S; ++s) {
          level[l + 1][s] = __fadd_rn(level[l + 1][s], level[l][s]);
          level[l][s] = 0.0f;
        }
      }
      span *= kColumnBlock;
    }
  }
  // What was carried is zero, so the total is in the one level that the count ends on.
  std::int64_t span = kColumnBlock;
#pragma unroll
  for (int l = 0; l < kLevels; ++l) {
    if (l == 0 || span < count) {
#pragma unroll
      for (int s = 0; s < S; ++s) sum[s] = level[l][s];
    }
    if (l > 0) span *= kColumnBlock;
  }
}

// The total of column c from the sums of its chunks, [S][chunks][cols] as ColumnChunks leaves them. A single one is not summed
// again.
template <int S>
__device__ __forceinline__ void ColumnTotal(const float* partials, std::int64_t chunks, std::int64_t cols, std::int64_t c,
                                            float (&sum)[S]) {
  if (chunks == 1) {
#pragma unroll
    for (int s = 0; s < S; ++s) sum[s] = __ldg(partials + s * cols + c);
    return;
  }
  SumColumnOf(chunks, sum, [&](std::int64_t chunk, float(&value)[S]) {
#pragma unroll
    for (int s = 0; s < S; ++s) value[s] = __ldg(partials + (s * chunks + chunk) * cols + c);
  });
}

// One block of rows of one column.
template <int S, class Op>
__device__ __forceinline__ void SumBlock(const Op& op, const typename Op::Column& column, const ColumnGrid& g,
                                         std::int64_t block, std::int64_t c, float (&acc)[S]) {
#pragma unroll
  for (int s = 0; s < S; ++s) acc[s] = 0.0f;
  constexpr int kAhead = S == 1 ? 32 : 8;  // loads on their way, as many as there are registers for
  const std::int64_t row = block * kColumnBlock;
  const std::int64_t first = row * g.cols + c;
  if (row + kColumnBlock <= g.rows) {
#pragma unroll kAhead
    for (int j = 0; j < kColumnBlock; ++j) op.Step(acc, column, row + j, first + j * g.cols);
  } else {
    const int count = static_cast<int>(g.rows - row);
#pragma unroll 4
    for (int j = 0; j < count; ++j) op.Step(acc, column, row + j, first + j * g.cols);
  }
}

// The whole thread block, after each row of threads has stored its sums of blocks: their sums, in the first row of threads.
template <int S>
__device__ __forceinline__ void AddBlocks(const ColumnGrid& g, int count, const ChunkSums<S>& sums, float (&sum)[S]) {
  __syncthreads();
  if (threadIdx.y == 0) {
#pragma unroll
    for (int s = 0; s < S; ++s) {
      sum[s] = 0.0f;
      if (g.blocks == 1) {
        sum[s] = sums.block[s][0][threadIdx.x];  // a single sum is not summed again
      } else {
#pragma unroll 8
        for (int b = 0; b < count; ++b) sum[s] = __fadd_rn(sum[s], sums.block[s][b][threadIdx.x]);
      }
    }
  }
  __syncthreads();
}

template <class Op>
__global__ void __launch_bounds__(kMaxColumnThreads, 2) ColumnChunks(Op op, ColumnGrid g, float* partials) {
  constexpr int S = Op::kSums;
  __shared__ ChunkSums<S> sums;
  __shared__ typename Op::Column columns[kMaxTile];
  const std::int64_t chunk = blockIdx.x / g.tiles;
  const std::int64_t c = blockIdx.x % g.tiles * g.tile + threadIdx.x;
  if (threadIdx.y == 0 && c < g.cols) columns[threadIdx.x] = op.Prepare(c);
  __syncthreads();
  const typename Op::Column column = columns[threadIdx.x];
  const std::int64_t first = chunk * kColumnBlock;
  const int count = static_cast<int>(g.blocks - first < kColumnBlock ? g.blocks - first : kColumnBlock);
  float sum[S];
  if (c < g.cols) {
    for (int b = static_cast<int>(threadIdx.y); b < count; b += static_cast<int>(blockDim.y)) {
      SumBlock<S>(op, column, g, first + b, c, sum);
#pragma unroll
      for (int s = 0; s < S; ++s) sums.block[s][b][threadIdx.x] = sum[s];
    }
  }
  AddBlocks(g, count, sums, sum);
  if (threadIdx.y != 0 || c >= g.cols) return;
  if (partials == nullptr) {
    op.Finish(c, sum);
    return;
  }
#pragma unroll
  for (int s = 0; s < S; ++s) partials[(s * g.chunks + chunk) * g.cols + c] = sum[s];
}

template <class Op>
__global__ void FinishColumns(Op op, ColumnGrid g, const float* partials) {
  for (std::int64_t c = GlobalThread<std::int64_t>(); c < g.cols; c += GlobalThreads<std::int64_t>()) {
    float sum[Op::kSums];
    ColumnTotal(partials, g.chunks, g.cols, c, sum);
    op.Finish(c, sum);
  }
}

// Bytes of the sums of chunks.
inline std::size_t PartialBytes(const ColumnGrid& g, int sums) {
  return static_cast<std::size_t>(sums * g.chunks * g.cols) * sizeof(float);
}

template <class Op>
void LaunchColumns(const Op& op, std::int64_t rows, std::int64_t cols, Context& context, const char* name) {
  if (cols == 0) return;
  const ColumnGrid g = GridOfColumns(rows, cols, context);
  float* partials = g.chunks == 1 ? nullptr : static_cast<float*>(context.Scratch(PartialBytes(g, Op::kSums)));
  ColumnChunks<<<g.grid(), g.threads(), 0, context.stream()>>>(op, g, partials);
  CheckLaunch(name);
  if (g.chunks == 1) return;
  constexpr int kThreads = 64;
  FinishColumns<<<GridFor(cols, kThreads), kThreads, 0, context.stream()>>>(op, g, partials);
  CheckLaunch(name);
}

}  // namespace assay::cuda
