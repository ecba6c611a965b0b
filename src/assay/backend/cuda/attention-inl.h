// What attention and attention_grad share on the device: tiles in shared memory, the exponential of a score, the dropout mask.
//
// A tile is some rows of one head, each padded to kWidth floats in units of four. The units of a row are permuted: unit u lies
// at place u ^ Twist(row / n mod m), where n rows in turn share a permutation, so that a warp that reads the same unit of
// several rows meets no bank twice. The lanes of a warp form a grid of 4 x 8 (GridX, GridY); a lane holds some rows and the
// columns 4x ... 4x + 3 (+ 32n). Neighbours i, i ^ 1 share a column and i, i ^ 2 a row of the grid: then the hardware reads 128
// bits for half a warp at once. For .cu files alone.
#pragma once

#include <cstdint>

#include "assay/backend/cuda/kernels.h"
#include "assay/numerics/device-inl.h"
#include "assay/numerics/random.h"
#include "assay/ops/attention_geometry.h"

namespace assay::cuda::attention {

namespace nd = numerics::device;
using Geometry = ops::AttentionGeometry;
using nd::Device;

inline constexpr int kKeyBlock = 64;                               // of the contract
inline constexpr std::int64_t kMaxLength = std::int64_t{1} << 30;  // of queries or keys, so that positions fit in an int

__device__ __forceinline__ constexpr int Least(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ constexpr int Most(int a, int b) { return a > b ? a : b; }

__device__ __forceinline__ int GridX() { return static_cast<int>(threadIdx.x) / 2 % 8; }
__device__ __forceinline__ int GridY() {
  return static_cast<int>(threadIdx.x) % 2 + static_cast<int>(threadIdx.x) / 16 % 2 * 2;
}

// A permutation of 0 ... 7 (of `index` modulo 8) that keeps ^. Neighbours are 4 apart, since a quarter of a warp
// writes four units of two rows.
__device__ __forceinline__ constexpr int Twist(int index) { return index % 2 * 4 + index / 2 % 4; }

__device__ __forceinline__ void CopyAsync16(float* to, const float* from, bool real) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(real ? 16 : 0)
               : "memory");
}
__device__ __forceinline__ void CopyAsync4(float* to, const float* from, bool real) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(real ? 4 : 0)
               : "memory");
}
__device__ __forceinline__ void WaitForCopies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

__device__ __forceinline__ void Load4(float (&to)[4], const float* from) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
}
__device__ __forceinline__ void Store4(float* to, const float* x) {
  *reinterpret_cast<float4*>(to) = make_float4(x[0], x[1], x[2], x[3]);
}

// Starts the copy of `count` rows of `d` floats, `stride` apart, into a tile; the rest of the tile becomes +0. kTwist rows in
// turn share a permutation; kTwists of them, 4 or 8, take turns.
template <int kWidth, int kRows, int kThreads, int kTwist, int kTwists, bool kExact>
__device__ __forceinline__ void LoadTile(float* tile, const float* from, std::int64_t stride, int count, int d) {
  constexpr int kUnits = kWidth / 4, kStep = kThreads / kUnits, kCopies = kRows / kStep;
  static_assert(kThreads % kUnits == 0 && kRows % kStep == 0);
  const int first = static_cast<int>(threadIdx.x) / kUnits, unit = static_cast<int>(threadIdx.x) % kUnits;
  const float* source = from + first * stride + 4 * unit;
  const auto place = [&](int row) { return tile + row * kWidth + 4 * (unit ^ Twist(row / kTwist % kTwists)); };
  if (kExact && count == kRows) {
#pragma unroll
    for (int k = 0; k < kCopies; ++k) {
      CopyAsync16(place(first + k * kStep), source, true);
      source += kStep * stride;
    }
    return;
  }
#pragma unroll 1
  for (int row = first; row < kRows; row += kStep) {
    if (d % 4 == 0) {
      const bool real = row < count && 4 * unit < d;
      CopyAsync16(place(row), real ? source : from, real);
    } else {
      for (int e = 0; e < 4; ++e) {
        const bool real = row < count && 4 * unit + e < d;
        CopyAsync4(place(row) + e, real ? source + e : from, real);
      }
    }
    source += kStep * stride;
  }
}

// sum[r][n][c]: a chain over d of row r of the thread, at left(r) and permuted by left_twist, and row 4x + c + 32n of the tile
// `right`.
template <int kWidth, bool kExact, int kUnroll, int kR, int kN, class Left>
__device__ __forceinline__ void ChainOverWidth(float (&sum)[kR][kN][4], const Left& left, int left_twist, const float* right,
                                               int d) {
  const int right_twist = Twist(GridX());
  const float* const right_rows = right + 4 * GridX() * kWidth;
  const auto step = [&](int unit, int count) {
    float u[kR][4];
#pragma unroll
    for (int r = 0; r < kR; ++r) Load4(u[r], left(r) + 4 * (unit ^ left_twist));
#pragma unroll
    for (int n = 0; n < kN; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        float v[4];
        Load4(v, right_rows + (c + 32 * n) * kWidth + 4 * (unit ^ right_twist));
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (e >= count) continue;
#pragma unroll
          for (int r = 0; r < kR; ++r) sum[r][n][c] = __fmaf_rn(u[r][e], v[e], sum[r][n][c]);
        }
      }
    }
  };
#pragma unroll(kUnroll)
  for (int unit = 0; unit < d / 4; ++unit) step(unit, 4);
  if (!kExact && d % 4 != 0) step(d / 4, d % 4);
}

// sum[r][n][c] goes on with a chain over keys 0 ... 4 units - 1 of the tile `keys`: their weights, at weights(r) and permuted
// by weights_twist, and their column 4 (x + 8n) + c; only the keys j for which takes(r, j).
template <int kWidth, int kUnroll, int kR, int kC, class Weights, class Takes>
__device__ __forceinline__ void ChainOverKeys(float (&sum)[kR][kC][4], const Weights& weights, int weights_twist,
                                              const float* keys, int units, const Takes& takes) {
#pragma unroll(kUnroll)
  for (int unit = 0; unit < units; ++unit) {
    float w[kR][4];
#pragma unroll
    for (int r = 0; r < kR; ++r) Load4(w[r], weights(r) + 4 * (unit ^ weights_twist));
    const float* const columns = keys + 4 * unit * kWidth + 4 * (GridX() ^ Twist(unit));
#pragma unroll
    for (int e = 0; e < 4; ++e) {
#pragma unroll
      for (int n = 0; n < kC; ++n) {
        float v[4];
        Load4(v, columns + e * kWidth + 32 * n);
#pragma unroll
        for (int r = 0; r < kR; ++r) {
          if (!takes(r, 4 * unit + e)) continue;
#pragma unroll
          for (int c = 0; c < 4; ++c) sum[r][n][c] = __fmaf_rn(w[r][e], v[c], sum[r][n][c]);
        }
      }
    }
  }
}

// Four columns of a row of a result, NaNs in their one form; what lies outside the row is left alone.
__device__ __forceinline__ void StoreColumns(float* row, int column, int d, const float (&from)[4]) {
  float x[4];
#pragma unroll
  for (int c = 0; c < 4; ++c) x[c] = Device::Canonical(from[c]);
  if (d % 4 == 0) {
    if (column < d) Store4(row + column, x);
  } else {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      if (column + c < d) row[column + c] = x[c];
    }
  }
}

// A NaN in either operand wins. The sign of a zero may differ from max of the contract, which cannot be seen in a difference's
// exponential.
__device__ __forceinline__ float MaxOrNan(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

// The bits of Exp for x <= 40 (or NaN): 2^n is applied as 2^(n + 65) 2^-65, which also rounds once, and needs no case
// distinction there.
__device__ __forceinline__ float ExpSmall(float x) {
  const float shift = 0x1.8p23f + 192.0f;  // even, so that ties of the rounding fall as in ExpReduce; leaves n + 192
  x = MaxOrNan(x, -105.0f);
  const float shifted = __fmaf_rn(x, 0x1.715476p0f, shift);
  const float whole = __fsub_rn(shifted, shift);
  float r = __fmaf_rn(-whole, 0x1.62e43p-1f, x);
  r = __fmaf_rn(-whole, -0x1.05c61p-29f, r);
  const float y = __fmaf_rn(__fmaf_rn(nd::ExpQ<Device>(r), r, 1.0f), r, 1.0f);
  return __fmul_rn(__fmul_rn(y, __int_as_float(__float_as_int(shifted) << 23)), 0x1p-65f);
}

// Dropout of the probabilities, as the host knows it.
struct Dropout {
  explicit Dropout(const Geometry& g)
      : stream(g.stream), threshold(numerics::DropoutThreshold(g.dropout)), factor(numerics::DropoutFactor(g.dropout)) {}

  std::uint32_t stream, threshold;
  float factor;
};

struct Mask {
  const Dropout& dropout;
  numerics::DrawKey key;

  __device__ Mask(const Dropout& of, const std::uint32_t* rng) : dropout(of), key(numerics::MakeDrawKey(rng, of.stream)) {}

  // What elements `element` ... + 3 are multiplied by.
  __device__ __forceinline__ void Keep(std::int64_t element, float (&keep)[4]) const {
    const std::uint32_t block = static_cast<std::uint32_t>(element >> 2);
    const PhiloxBlock draws = numerics::DrawBlock(key, block);
    const int skip = static_cast<int>(element & 3);
    if (skip == 0) {
#pragma unroll
      for (int e = 0; e < 4; ++e) keep[e] = draws[e] >= dropout.threshold ? dropout.factor : 0.0f;
    } else {
      const PhiloxBlock more = numerics::DrawBlock(key, block + 1);
      const std::uint32_t all[8] = {draws[0], draws[1], draws[2], draws[3], more[0], more[1], more[2], more[3]};
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const std::uint32_t draw = skip == 1 ? all[e + 1] : (skip == 2 ? all[e + 2] : all[e + 3]);
        keep[e] = draw >= dropout.threshold ? dropout.factor : 0.0f;
      }
    }
  }
};

// Reduces value[r][k] over the eight lanes of a row of the grid, in the order of halving distances: 4, 2, 1. Rows are dealt out
// on the way: value[0] ends as the result of the lane's own row, row x kN / 8.
template <int kN, int kK, int kDistance = 4, class Op>
__device__ __forceinline__ void ReduceRows(float (&value)[kN][kK], Op op) {
  constexpr int kLanes = 2 * kDistance;
  if constexpr (kDistance == 0) {
    return;
  } else if constexpr (kN == 1) {
#pragma unroll
    for (int k = 0; k < kK; ++k) value[0][k] = op(value[0][k], __shfl_xor_sync(0xffffffffu, value[0][k], kLanes));
    ReduceRows<1, kK, kDistance / 2>(value, op);
  } else {
    const bool upper = (threadIdx.x & kLanes) != 0;
    float half[kN / 2][kK];
#pragma unroll
    for (int r = 0; r < kN / 2; ++r) {
#pragma unroll
      for (int k = 0; k < kK; ++k) {
        const float mine = upper ? value[r + kN / 2][k] : value[r][k];
        const float other = upper ? value[r][k] : value[r + kN / 2][k];
        half[r][k] = op(mine, __shfl_xor_sync(0xffffffffu, other, kLanes));
      }
    }
    ReduceRows<kN / 2, kK, kDistance / 2>(half, op);
#pragma unroll
    for (int k = 0; k < kK; ++k) value[0][k] = half[0][k];
  }
}
template <int kN>
__device__ __forceinline__ float FromOwner(float value, int row) {  // what the owner of `row` holds
  return __shfl_sync(0xffffffffu, value, static_cast<int>(threadIdx.x & 17u) | (row * (8 / kN) * 2));
}

// Launches with the shape `Large` where its `blocks` thread blocks are enough to fill the device, with `Small` elsewhere; exactly
// as wide as a head where that is as wide as the shapes.
template <class Large, class Small, class Launch>
void WithShape(const Geometry& g, std::int64_t blocks, const Context& context, const Launch& launch) {
  const bool large = blocks >= 2 * context.multiprocessors() && Large::kBytes <= context.max_shared_bytes();
  if (g.d != Large::kWidth) {
    launch.template operator()<Small, false, true>();
  } else if (g.dropout > 0) {
    large ? launch.template operator()<Large, true, true>() : launch.template operator()<Small, true, true>();
  } else {
    large ? launch.template operator()<Large, true, false>() : launch.template operator()<Small, true, false>();
  }
}

}  // namespace assay::cuda::attention
