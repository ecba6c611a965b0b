#include "assay/backend/cublas/attention_heads.h"

#include <array>

#include "assay/backend/cublas/attention-inl.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/base/check.h"

namespace assay::cublas::attention {
namespace {

constexpr std::size_t kMostTensors = 6;
constexpr std::int64_t kChunkBytes = std::int64_t{3} << 29;
constexpr std::int64_t kMostHeads = 32768;  // of a call

template <class T>
struct List {
  explicit List(std::span<const T> tensors) {
    ASSAY_CHECK(tensors.size() <= kMostTensors);
    std::copy(tensors.begin(), tensors.end(), of);
  }
  T of[kMostTensors];
};

// A warp takes a row.
__global__ void WidenRows(List<Widening> list, std::int64_t batch, std::int64_t d) {
  const Widening w = list.of[blockIdx.y];
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t rows = batch * w.heads * w.length, warps = cuda::GlobalThreads<std::int64_t>() / 32;
  for (std::int64_t row = cuda::GlobalThread<std::int64_t>() / 32; row < rows; row += warps) {
    const std::int64_t t = row % w.length, h = row / w.length % w.heads, b = row / w.length / w.heads;
    const float* from = w.from + ((b * w.length + t) * w.heads + h) * d;
    double squares = 0;
    for (std::int64_t c = lane; c < d; c += 32) {
      const double x = from[c];
      w.to[row * d + c] = x;
      squares += x * x;
    }
    squares = WarpSum(squares);
    if (lane == 0) w.norms[row] = sqrt(squares);
  }
}

__global__ void SetIfNonFinite(List<Floats> list, int* found) {
  const Floats floats = list.of[blockIdx.y];
  bool finite = true;
  for (std::int64_t i = cuda::GlobalThread<std::int64_t>(); i < floats.count; i += cuda::GlobalThreads<std::int64_t>()) {
    finite = finite && floats.values[i] - floats.values[i] == 0;
  }
  if (!finite) *found = 1;
}

// A thread takes a column up to the end of a block of rows.
__global__ void AddSquares(const double* __restrict__ matrices, std::int64_t count, std::int64_t rows, std::int64_t columns,
                           double* __restrict__ squares) {
  constexpr int kAhead = 8;
  const std::int64_t blocks = PrefixesOf(rows);
  for (std::int64_t k = cuda::GlobalThread<std::int64_t>(); k < count * blocks * columns;
       k += cuda::GlobalThreads<std::int64_t>()) {
    const std::int64_t column = k % columns, block = k / columns % blocks, matrix = k / columns / blocks;
    const double* from = matrices + matrix * rows * columns + column;
    const std::int64_t end = (block + 1) * kPrefixRows < rows ? (block + 1) * kPrefixRows : rows;
    double sums[kAhead] = {};
    for (std::int64_t i = 0; i < end; i += kAhead) {
#pragma unroll
      for (int r = 0; r < kAhead; ++r) {
        const double x = i + r < end ? from[(i + r) * columns] : 0.0;
        sums[r] += x * x;
      }
    }
    squares[k] = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  }
}

}  // namespace

std::int64_t HeadsOfChunk(std::int64_t heads, std::int64_t head_bytes) {
  return std::clamp<std::int64_t>(kChunkBytes / head_bytes, 1, std::min(heads, kMostHeads));
}

void WidenHeads(std::span<const Widening> tensors, std::int64_t batch, std::int64_t d, cudaStream_t stream) {
  std::int64_t rows = 0;
  for (const Widening& w : tensors) rows = std::max(rows, batch * w.heads * w.length);
  const dim3 grid(cuda::GridFor(rows, kThreads / 32), static_cast<unsigned>(tensors.size()));
  WidenRows<<<grid, kThreads, 0, stream>>>(List<Widening>(tensors), batch, d);
  cuda::CheckLaunch("WidenRows");
}

void FindNonFinite(std::span<const Floats> tensors, int* found, cudaStream_t stream) {
  cuda::Check(cudaMemsetAsync(found, 0, sizeof *found, stream), "clearing a flag");
  std::int64_t most = 0;
  for (const Floats& floats : tensors) most = std::max(most, floats.count);
  const dim3 grid(cuda::GridFor(most, 4 * kThreads), static_cast<unsigned>(tensors.size()));
  SetIfNonFinite<<<grid, kThreads, 0, stream>>>(List<Floats>(tensors), found);
  cuda::CheckLaunch("SetIfNonFinite");
}

void SquaresOfPrefixes(const double* matrices, std::int64_t count, std::int64_t rows, std::int64_t columns, double* squares,
                       cudaStream_t stream) {
  constexpr int kFew = 64;  // threads, so that all multiprocessors have some
  AddSquares<<<cuda::GridFor(count * PrefixesOf(rows) * columns, kFew), kFew, 0, stream>>>(matrices, count, rows, columns,
                                                                                           squares);
  cuda::CheckLaunch("AddSquares");
}

void MultiplyRows(const Extents& x, const Chunk& chunk, const double* queries, const double* keys, double* to,
                  const Cublas& blas) {
  const std::int64_t block = numerics::ContractionBlock(x.width), d = x.width;
  for (std::int64_t part = 0; part < x.width_parts; ++part) {
    const std::int64_t c = part * block;
    blas.Gemm(false, true, x.queries, x.keys, std::min(block, d - c), queries + chunk.first * x.queries * d + c, d,
              x.queries * d, keys + chunk.first * x.keys * d + c, d, x.keys * d, to + part * chunk.count * x.queries * x.keys,
              x.keys, x.queries * x.keys, chunk.count);
  }
}

void SumOverKeys(const Extents& x, const Chunk& chunk, const double* weights, const double* keys, double* to,
                 const Cublas& blas) {
  const std::int64_t d = x.width;
  for (std::int64_t part = 0; part < x.key_parts; ++part) {
    const std::int64_t j = part * kKeyBlock;
    blas.Gemm(false, false, x.queries, d, std::min(kKeyBlock, x.keys - j), weights + j, x.keys, x.queries * x.keys,
              keys + (chunk.first * x.keys + j) * d, d, x.keys * d, to + part * chunk.count * x.queries * d, d, x.queries * d,
              chunk.count);
  }
}

void SumOverQueries(const Extents& x, const Chunk& chunk, const double* weights, const double* queries, double* to,
                    const Cublas& blas) {
  const std::int64_t d = x.width;
  for (std::int64_t part = 0; part < x.query_parts; ++part) {
    const std::int64_t i = part * x.query_block;
    blas.Gemm(true, false, x.keys, d, std::min(x.query_block, x.queries - i), weights + i * x.keys, x.keys, x.queries * x.keys,
              queries + (chunk.first * x.queries + i) * d, d, x.queries * d, to + part * chunk.count * x.keys * d, d,
              x.keys * d, chunk.count);
  }
}

}  // namespace assay::cublas::attention
