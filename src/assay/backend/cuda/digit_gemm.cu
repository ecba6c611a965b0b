// Products of digits on any device: a tile of 64 x 64 results a thread block, four by four a thread, four products at a time.
#include <algorithm>

#include "assay/backend/cuda/digit_gemm.h"
#include "assay/backend/cuda/digit_join-inl.h"

namespace assay::cuda::digits {
namespace {

constexpr int kPlainTile = 64, kPlainThreads = 256, kPlainDepth = 64;  // values of K at a time
constexpr int kPlainLine = kPlainDepth + 4;                            // bytes of a row in shared memory

// Rows [first, first + 64) of all digits, [k, k + 64) along K.
template <int n>
__device__ void LoadRows(const DigitRows& from, std::int64_t first, std::int64_t end, std::int64_t k, char* to) {
  for (int i = threadIdx.x; i < n * kPlainTile * (kPlainDepth / 4); i += kPlainThreads) {
    const int word = i % (kPlainDepth / 4), row = i / (kPlainDepth / 4) % kPlainTile,
              digit = i / (kPlainDepth / 4 * kPlainTile);
    const std::int64_t line = std::int64_t{digit} * from.rows + first + row;
    *reinterpret_cast<int*>(to + (digit * kPlainTile + row) * kPlainLine + 4 * word) =
        first + row < end ? *reinterpret_cast<const int*>(from.digits + line * from.depth + k + 4 * word) : 0;
  }
}

template <int n>
__global__ void __launch_bounds__(kPlainThreads) MultiplyPlainly(DigitGemm g) {
  __shared__ __align__(16) char a_digits[n * kPlainTile * kPlainLine], b_digits[n * kPlainTile * kPlainLine];
  const std::int64_t tiles_n = (g.n + kPlainTile - 1) / kPlainTile, per_matrix = (g.m + kPlainTile - 1) / kPlainTile * tiles_n;
  const int x = threadIdx.x % 16, y = threadIdx.x / 16;
  for (std::int64_t tile = blockIdx.x; tile < per_matrix * g.batch; tile += gridDim.x) {
    const std::int64_t p = tile / per_matrix, m = tile % per_matrix / tiles_n * kPlainTile, nn = tile % tiles_n * kPlainTile;
    const std::int64_t a_first = p * g.a.batch_rows + m, b_first = p * g.b.batch_rows + nn;
    const std::int64_t a_end = a_first - m + g.m, b_end = b_first - nn + g.n;
    float totals[4][4] = {};
    for (int block = 0; block < g.blocks; ++block) {
      std::int32_t sums[n][4][4] = {};
      for (int k = 0; k < kBlock; k += kPlainDepth) {
        __syncthreads();
        LoadRows<n>(g.a, a_first, a_end, std::int64_t{block} * kBlock + k, a_digits);
        LoadRows<n>(g.b, b_first, b_end, std::int64_t{block} * kBlock + k, b_digits);
        __syncthreads();
        for (int word = 0; word < kPlainDepth / 4; ++word) {
          int u[n][4], v[n][4];
#pragma unroll
          for (int d = 0; d < n; ++d) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
              u[d][i] = *reinterpret_cast<const int*>(a_digits + (d * kPlainTile + y + 16 * i) * kPlainLine + 4 * word);
              v[d][i] = *reinterpret_cast<const int*>(b_digits + (d * kPlainTile + x + 16 * i) * kPlainLine + 4 * word);
            }
          }
#pragma unroll
          for (int d = 0; d < n; ++d) {
#pragma unroll
            for (int e = n - 1 - d; e < n; ++e) {
#pragma unroll
              for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                  std::int32_t& sum = sums[2 * (n - 1) - d - e][i][j];
                  sum = __dp4a(u[d][i], v[e][j], sum);
                }
              }
            }
          }
        }
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::int64_t row = a_first + y + 16 * i;
        const float scale_a = row < a_end ? g.a.scales[std::int64_t{block} * g.a.rows + row] : 0.0f;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const std::int64_t column = b_first + x + 16 * j;
          if (row >= a_end || column >= b_end) continue;
          std::int32_t integers[n];
#pragma unroll
          for (int o = 0; o < n; ++o) integers[o] = sums[o][i][j];
          AddBlock<n>(totals[i][j], integers, scale_a, g.b.scales[std::int64_t{block} * g.b.rows + column], g.lacks);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const std::int64_t row = m + y + 16 * i, column = nn + x + 16 * j;
        if (row < g.m && column < g.n) {
          g.out[p * g.batch_stride + row * g.stride + column] = numerics::device::Device::Canonical(totals[i][j]);
        }
      }
    }
  }
}

}  // namespace

DigitRows Scratch::TakeRows(std::int64_t matrices, std::int64_t rows, std::int64_t depth, int n) {
  DigitRows taken;
  taken.batch_rows = static_cast<int>(PaddedRows(rows));
  taken.rows = static_cast<int>(matrices * taken.batch_rows);
  if (matrices == 1) taken.batch_rows = 0;
  taken.depth = static_cast<int>(PaddedDepth(depth));
  taken.digits = Take<std::int8_t>(std::int64_t{n} * taken.rows * taken.depth);
  taken.scales = Take<float>(std::int64_t{taken.rows} * (taken.depth / kBlock));
  return taken;
}

void TakeForProduct(Scratch& scratch, DigitGemm& g, int digits, const Context& context) {
  const std::int64_t sums = std::int64_t{kTileM} * TileN(digits);
  g.waiting = scratch.Take<float>(context.multiprocessors() * sums);
  g.flags = scratch.Take<unsigned>(2 * context.multiprocessors());
}

void Multiply(const DigitGemm& g, int digits, Context& context) {
  if (g.m == 0 || g.n == 0 || g.batch == 0 || context.leaves_out_products) return;
  const DigitUnit unit = context.tuning().digit_unit;
  if (g.blocks > 0 && unit == DigitUnit::kBest && RunsOnHopper()) return MultiplyOnHopper(g, digits, context);
  if (unit == DigitUnit::kMmaInt8 || unit == DigitUnit::kMmaBf16)
    return MultiplyByMma(g, digits, unit == DigitUnit::kMmaBf16, context);
  const std::int64_t tiles = (g.m + kPlainTile - 1) / kPlainTile * ((g.n + kPlainTile - 1) / kPlainTile) * g.batch;
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(tiles, std::int64_t{1} << 24));
  (digits == 3 ? MultiplyPlainly<3> : MultiplyPlainly<2>)<<<grid, kPlainThreads, 0, context.stream()>>>(g);
  CheckLaunch("product of digits");
}

}  // namespace assay::cuda::digits
