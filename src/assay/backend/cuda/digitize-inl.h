// Makes digits of matrices (docs/NUMERICS.md, section 7) as digit_gemm.h lays them out. For .cu files.
#pragma once

#include <cstdint>

#include "assay/backend/cuda/digit_gemm.h"

namespace assay::cuda::digits {

// A batch of matrices: element (r, k) of matrix p is at x[p · batch + r · row + k · column]; one of row and column is 1.
struct Matrices {
  const float* x = nullptr;
  std::int64_t batch = 0, row = 0, column = 0;
  std::int64_t count = 1, rows = 0, depth = 0;
};

__device__ __forceinline__ std::uint32_t Magnitude(float x) { return __float_as_uint(x) & 0x7fffffffu; }

// The bytes at `place` of four words.
__device__ __forceinline__ std::uint32_t Gather(const std::uint32_t (&w)[4], int place) {
  const unsigned pick = static_cast<unsigned>(place) | static_cast<unsigned>(4 + place) << 4;
  return __byte_perm(__byte_perm(w[0], w[1], pick), __byte_perm(w[2], w[3], pick), 0x5410);
}
__device__ __forceinline__ std::uint32_t DigitsOf(float x, float factor) {
  return numerics::DigitBytes(__float2int_rn(__fmul_rn(x, factor)));
}

inline constexpr int kDigitizeThreads = 256;

// Values of K that lie next to each other: one warp for each block of a row.
template <int n, bool quads>
__global__ void __launch_bounds__(kDigitizeThreads) DigitizeAlong(Matrices in, DigitRows out) {
  const int lane = threadIdx.x % 32;
  const std::int64_t blocks = out.depth / kBlock, work = in.count * in.rows * blocks;
  const std::int64_t warps = std::int64_t{gridDim.x} * (kDigitizeThreads / 32);
  for (std::int64_t w = std::int64_t{blockIdx.x} * (kDigitizeThreads / 32) + threadIdx.x / 32; w < work; w += warps) {
    const std::int64_t block = w % blocks, line = w / blocks, p = line / in.rows, r = line % in.rows;
    const std::int64_t k = block * kBlock + lane * 8, row = p * out.batch_rows + r;
    const float* const from = in.x + p * in.batch + r * in.row + k;
    float x[8];
    if (quads && k + 8 <= in.depth) {
      const float4 low = __ldg(reinterpret_cast<const float4*>(from)), high = __ldg(reinterpret_cast<const float4*>(from) + 1);
      x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w, x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i) x[i] = k + i < in.depth ? __ldg(from + i) : 0.0f;
    }
    std::uint32_t largest = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) largest = max(largest, Magnitude(x[i]));
    const std::uint32_t exponent = numerics::DigitExponent(__reduce_max_sync(0xffffffffu, largest));
    const float factor = numerics::DigitFactor(exponent, n);
    std::uint32_t low[4], high[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      low[i] = exponent == 0 ? 0 : DigitsOf(x[i], factor);
      high[i] = exponent == 0 ? 0 : DigitsOf(x[i + 4], factor);
    }
#pragma unroll
    for (int d = 0; d < n; ++d) {
      auto* const to = reinterpret_cast<uint2*>(out.digits + (std::int64_t{d} * out.rows + row) * out.depth + k);
      *to = make_uint2(Gather(low, d), Gather(high, d));
    }
    if (lane == 0) out.scales[block * out.rows + row] = numerics::DigitScale(exponent, n);
  }
}

// Rows that lie next to each other: a thread block for each block of K of 32 rows, a thread for 32 values of one row. Digits leave by way of shared memory, so
// that whole lines are written.
template <int n>
__global__ void __launch_bounds__(kDigitizeThreads) DigitizeAcross(Matrices in, DigitRows out) {
  constexpr int kLine = kBlock + 16;  // bytes of a row in shared memory
  __shared__ std::uint32_t largest[8][32];
  __shared__ __align__(16) char staged[n * 32 * kLine];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::int64_t blocks = out.depth / kBlock, groups = (in.rows + 31) / 32, work = in.count * groups * blocks;
  for (std::int64_t w = blockIdx.x; w < work; w += gridDim.x) {
    const std::int64_t group = w % groups, block = w / groups % blocks, p = w / (groups * blocks);
    const std::int64_t r = group * 32 + lane, k = block * kBlock + warp * 32;
    const float* const from = in.x + p * in.batch + r + k * in.column;
    float x[32];
    std::uint32_t mine = 0;
#pragma unroll
    for (int i = 0; i < 32; ++i) x[i] = r < in.rows && k + i < in.depth ? __ldg(from + i * in.column) : 0.0f;
#pragma unroll
    for (int i = 0; i < 32; ++i) mine = max(mine, Magnitude(x[i]));
    __syncthreads();
    largest[warp][lane] = mine;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) mine = max(mine, largest[i][lane]);
    const std::uint32_t exponent = numerics::DigitExponent(mine);
    const float factor = numerics::DigitFactor(exponent, n);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t q[4][4];
#pragma unroll
      for (int i = 0; i < 16; ++i) q[i / 4][i % 4] = exponent == 0 ? 0 : DigitsOf(x[16 * half + i], factor);
#pragma unroll
      for (int d = 0; d < n; ++d) {
        *reinterpret_cast<uint4*>(staged + (d * 32 + lane) * kLine + warp * 32 + 16 * half) =
            make_uint4(Gather(q[0], d), Gather(q[1], d), Gather(q[2], d), Gather(q[3], d));
      }
    }
    const std::int64_t first = p * out.batch_rows + group * 32;
    if (warp == 0 && r < in.rows) out.scales[block * out.rows + first + lane] = numerics::DigitScale(exponent, n);
    __syncthreads();
    const int most = static_cast<int>(min(in.rows - group * 32, std::int64_t{32}));
#pragma unroll
    for (int d = 0; d < n; ++d) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = half * 16 + threadIdx.x / 16, at = threadIdx.x % 16 * 16;
        if (row < most) {
          *reinterpret_cast<uint4*>(out.digits + (std::int64_t{d} * out.rows + first + row) * out.depth + block * kBlock + at) =
              *reinterpret_cast<const uint4*>(staged + (d * 32 + row) * kLine + at);
        }
      }
    }
  }
}

template <int n>
void Digitize(const Matrices& in, const DigitRows& out, int multiprocessors, cudaStream_t stream) {
  const std::int64_t blocks = out.depth / kBlock;
  if (in.column == 1) {
    const std::int64_t work = in.count * in.rows * blocks;
    const auto grid = static_cast<unsigned>(std::clamp<std::int64_t>((work + 7) / 8, 1, std::int64_t{multiprocessors} * 64));
    const bool quads = in.row % 4 == 0 && in.batch % 4 == 0;
    (quads ? DigitizeAlong<n, true> : DigitizeAlong<n, false>)<<<grid, kDigitizeThreads, 0, stream>>>(in, out);
  } else {
    const std::int64_t work = in.count * ((in.rows + 31) / 32) * blocks;
    const auto grid = static_cast<unsigned>(std::clamp<std::int64_t>(work, 1, std::int64_t{multiprocessors} * 64));
    DigitizeAcross<n><<<grid, kDigitizeThreads, 0, stream>>>(in, out);
  }
}

}  // namespace assay::cuda::digits
