// Products of digits by the tensor core instructions of capability 8.0 and newer (mma.sync), in two ways that give the same bytes: by the units for 8-bit
// integers, and by those for bf16 with binary32 accumulators, whose sums stay below 2^24 and so are exact. A thread block of four warps makes tiles of 64 x 64
// results; a warp has 32 x 32 of them.
#include <algorithm>
#include <cstring>

#include "assay/backend/cuda/digit_gemm.h"
#include "assay/backend/cuda/digit_join-inl.h"

namespace assay::cuda::digits {
namespace {

constexpr int kTile = 64, kThreads = 128, kDepth = 64;  // values of K at a time
constexpr int kLine =
    kDepth + 16;  // bytes of a row in shared memory, so that the eight rows of a fragment lie in different banks
constexpr int kTilesM = 2, kTilesN = 4;  // fragments of a warp: 16 rows, 8 columns

// A fragment of a: rows g and g + 8 of 16, of b: column g of 8, with g a lane's group of four and t its place in the group.
struct Int8 {
  using Sum = std::int32_t;
  static constexpr int kStep = 32;
  static __device__ unsigned Pick(const char* row, int k) { return *reinterpret_cast<const unsigned*>(row + k); }
  static __device__ void Multiply(Sum (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  static __device__ std::int32_t Integer(Sum sum) { return sum; }
};

struct Bf16 {
  using Sum = float;
  static constexpr int kStep = 16;
  // Two digits as the upper halves of their binary32 values, which they fit into.
  static __device__ unsigned Pick(const char* row, int k) {
    const auto low = static_cast<float>(static_cast<signed char>(row[k])),
               high = static_cast<float>(static_cast<signed char>(row[k + 1]));
    return __float_as_uint(low) >> 16 | (__float_as_uint(high) & 0xffff0000u);
  }
  static __device__ void Multiply(Sum (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  static __device__ std::int32_t Integer(Sum sum) { return static_cast<std::int32_t>(sum); }
};

// Both units have the halves of a step along K in registers of their own, and a quarter of each half in a lane.
template <class Unit>
__device__ void LoadA(unsigned (&a)[4], const char* rows, int t) {
  for (int half = 0; half < 2; ++half) {
    a[2 * half] = Unit::Pick(rows, Unit::kStep / 2 * half + Unit::kStep / 8 * t);
    a[2 * half + 1] = Unit::Pick(rows + 8 * kLine, Unit::kStep / 2 * half + Unit::kStep / 8 * t);
  }
}

template <class Unit>
__device__ void LoadB(unsigned (&b)[2], const char* row, int t) {
  for (int half = 0; half < 2; ++half) b[half] = Unit::Pick(row, Unit::kStep / 2 * half + Unit::kStep / 8 * t);
}

// Rows [first, first + 64) of all digits, [k, k + 64) along K. Rows beyond the last are filled up with rows of anything (DigitRows), whose results are not kept.
template <int n>
__device__ void LoadRows(const DigitRows& from, std::int64_t first, std::int64_t k, char* to) {
  constexpr int kPieces = kDepth / 16;
  for (int i = static_cast<int>(threadIdx.x); i < n * kTile * kPieces; i += kThreads) {
    const int piece = i % kPieces, row = i / kPieces % kTile, digit = i / (kPieces * kTile);
    const std::int64_t line = std::int64_t{digit} * from.rows + first + row;
    *reinterpret_cast<int4*>(to + (digit * kTile + row) * kLine + 16 * piece) =
        *reinterpret_cast<const int4*>(from.digits + line * from.depth + k + 16 * piece);
  }
}

template <int n, class Unit>
__device__ void MultiplyChunk(typename Unit::Sum (&sums)[n][kTilesM][kTilesN][4], const char* a_rows, const char* b_rows,
                              int t) {
  for (int k = 0; k < kDepth; k += Unit::kStep) {
    unsigned b[n][kTilesN][2];
#pragma unroll
    for (int e = 0; e < n; ++e) {
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) LoadB<Unit>(b[e][j], b_rows + (e * kTile + 8 * j) * kLine + k, t);
    }
#pragma unroll
    for (int d = 0; d < n; ++d) {
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
        unsigned a[4];
        LoadA<Unit>(a, a_rows + (d * kTile + 16 * i) * kLine + k, t);
#pragma unroll
        for (int e = n - 1 - d; e < n; ++e) {
#pragma unroll
          for (int j = 0; j < kTilesN; ++j) Unit::Multiply(sums[2 * (n - 1) - d - e][i][j], a, b[e][j]);
        }
      }
    }
  }
}

template <int n, class Unit>
__global__ void __launch_bounds__(kThreads) MultiplyByTensorCores(DigitGemm g) {
  __shared__ __align__(16) char a_digits[n * kTile * kLine], b_digits[n * kTile * kLine];
  const std::int64_t tiles_n = (g.n + kTile - 1) / kTile, per_matrix = (g.m + kTile - 1) / kTile * tiles_n;
  const int warp = static_cast<int>(threadIdx.x) / 32, group = static_cast<int>(threadIdx.x) % 32 / 4,
            t = static_cast<int>(threadIdx.x) % 4;
  const int warp_m = warp / 2 * 32, warp_n = warp % 2 * 32;
  for (std::int64_t tile = blockIdx.x; tile < per_matrix * g.batch; tile += gridDim.x) {
    const std::int64_t p = tile / per_matrix, m = tile % per_matrix / tiles_n * kTile, nn = tile % tiles_n * kTile;
    const std::int64_t a_first = p * g.a.batch_rows + m, b_first = p * g.b.batch_rows + nn;
    float totals[kTilesM][kTilesN][4] = {};
    for (int block = 0; block < g.blocks; ++block) {
      typename Unit::Sum sums[n][kTilesM][kTilesN][4] = {};
      for (int k = 0; k < kBlock; k += kDepth) {
        __syncthreads();
        LoadRows<n>(g.a, a_first, std::int64_t{block} * kBlock + k, a_digits);
        LoadRows<n>(g.b, b_first, std::int64_t{block} * kBlock + k, b_digits);
        __syncthreads();
        MultiplyChunk<n, Unit>(sums, a_digits + (warp_m + group) * kLine, b_digits + (warp_n + group) * kLine, t);
      }
#pragma unroll
      for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
        for (int j = 0; j < kTilesN; ++j) {
#pragma unroll
          for (int r = 0; r < 4; ++r) {
            const int row = warp_m + 16 * i + group + 8 * (r / 2), column = warp_n + 8 * j + 2 * t + r % 2;
            if (m + row >= g.m || nn + column >= g.n) continue;
            std::int32_t integers[n];
#pragma unroll
            for (int o = 0; o < n; ++o) integers[o] = Unit::Integer(sums[o][i][j][r]);
            AddBlock<n>(totals[i][j][r], integers, g.a.scales[std::int64_t{block} * g.a.rows + a_first + row],
                        g.b.scales[std::int64_t{block} * g.b.rows + b_first + column], g.lacks);
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kTilesM; ++i) {
#pragma unroll
      for (int j = 0; j < kTilesN; ++j) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
          const std::int64_t row = m + warp_m + 16 * i + group + 8 * (r / 2), column = nn + warp_n + 8 * j + 2 * t + r % 2;
          if (row < g.m && column < g.n) {
            g.out[p * g.batch_stride + row * g.stride + column] = numerics::device::Device::Canonical(totals[i][j][r]);
          }
        }
      }
    }
  }
}

template <class Unit>
void Launch(const DigitGemm& g, int digits, Context& context) {
  const std::int64_t tiles = (g.m + kTile - 1) / kTile * ((g.n + kTile - 1) / kTile) * g.batch;
  const auto grid = static_cast<unsigned>(std::min<std::int64_t>(tiles, std::int64_t{1} << 24));
  (digits == 3 ? MultiplyByTensorCores<3, Unit> : MultiplyByTensorCores<2, Unit>)<<<grid, kThreads, 0, context.stream()>>>(g);
  CheckLaunch("product of digits by tensor cores");
}

}  // namespace

void MultiplyByMma(const DigitGemm& gemm, int digits, bool bf16, Context& context) {
  bf16 ? Launch<Bf16>(gemm, digits, context) : Launch<Int8>(gemm, digits, context);
}

}  // namespace assay::cuda::digits
