// What attention and attention_grad share on the device: tiles in shared memory, the exponential of a score, the dropout mask.
//
// A tile is `kRows` rows of one head, each padded to kWidth floats in units of four. The units of a row are permuted (unit u lies at place
// u ^ Twist(row)), so that a warp that reads the same unit of several rows meets no bank twice. Lanes of a warp form a grid of 4 x 8: lane
// (y, x) holds some rows of y and the columns 4x ... 4x + 3 (+ 32n). For .cu files alone.
#pragma once

#include <cstdint>

#include "assay/numerics/device-inl.h"
#include "assay/numerics/random.h"
#include "assay/ops/attention_geometry.h"

namespace assay::cuda::attention {

namespace nd = numerics::device;
using Geometry = ops::AttentionGeometry;
using nd::Device;

inline constexpr int kKeyBlock = 64;  // of the contract

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

// Starts the copy of `count` rows of `d` floats, `stride` apart, into a tile; the rest of the tile becomes +0. kTwist rows in turn
// share a permutation; kTwists of them, a power of two up to 8, take turns.
template <int kWidth, int kRows, int kThreads, int kTwist, int kTwists, bool kExact>
__device__ __forceinline__ void LoadTile(float* tile, const float* from, std::int64_t stride, int count, int d) {
  constexpr int kUnits = kWidth / 4, kStep = kThreads / kUnits, kCopies = kRows / kStep;
  static_assert(kThreads % kUnits == 0 && kRows % kStep == 0);
  const int first = static_cast<int>(threadIdx.x) / kUnits, unit = static_cast<int>(threadIdx.x) % kUnits;
  const float* source = from + first * stride + 4 * unit;
  const auto place = [&](int row) { return tile + row * kWidth + 4 * (unit ^ (row / kTwist % kTwists)); };
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

// A NaN in either operand wins. The sign of a zero may differ from max of the contract, which cannot be seen in a difference's exponential.
__device__ __forceinline__ float MaxOrNan(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

// The bits of Exp for x <= 40 (or NaN): 2^n is applied as 2^(n + 65) 2^-65, which also rounds once, and needs no case distinction there.
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

__device__ __forceinline__ float ExpLarge(float x) { return nd::Exp<Device>(x); }

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

// Reduces value[r][k] over the eight lanes of a row of the grid, in the order of halving distances: 4, 2, 1. Rows are dealt out on the
// way: value[0] ends as the result of row OwnRow<kN>(x), in 8 / kN lanes.
template <int kN, int kK, int kDistance = 4, class Op>
__device__ __forceinline__ void ReduceRows(float (&value)[kN][kK], Op op) {
  if constexpr (kDistance > 0) {
    if constexpr (kN > 1) {
      const bool upper = (threadIdx.x & kDistance) != 0;
      float half[kN / 2][kK];
#pragma unroll
      for (int r = 0; r < kN / 2; ++r) {
#pragma unroll
        for (int k = 0; k < kK; ++k) {
          const float mine = upper ? value[r + kN / 2][k] : value[r][k];
          const float other = upper ? value[r][k] : value[r + kN / 2][k];
          half[r][k] = op(mine, __shfl_xor_sync(0xffffffffu, other, kDistance));
        }
      }
      ReduceRows<kN / 2, kK, kDistance / 2>(half, op);
#pragma unroll
      for (int k = 0; k < kK; ++k) value[0][k] = half[0][k];
    } else {
#pragma unroll
      for (int k = 0; k < kK; ++k) value[0][k] = op(value[0][k], __shfl_xor_sync(0xffffffffu, value[0][k], kDistance));
      ReduceRows<1, kK, kDistance / 2>(value, op);
    }
  }
}
template <int kN>
__device__ __forceinline__ float FromOwner(float x, int row) {  // what the owner of `row` holds
  return __shfl_sync(0xffffffffu, x, static_cast<int>(threadIdx.x & 24u) | (row * (8 / kN)));
}

}  // namespace assay::cuda::attention
