// Reductions of rows on the GPU (docs/NUMERICS.md, section 2: rowsum, rowsumsq, rowdot). Kernels: row_kernels-inl.h.
//
// The contract's 32 lanes are the lanes of a warp. A row of up to 1024 elements is one warp's (NarrowRow), which can hold it in
// registers; one of a few pieces is a block's with a warp for each (MediumRow), which can hold it too; a longer one is a block's
// (WideRow): warps sum its pieces, the first warp sums the sums. A body is written once for all: it takes the row, asks it to
// Hold what it reads more than once, and to Reduce and ForEach. `k` numbers a lane's elements where they are held.
//
// A step is called for elements that exist alone, so that the fma forms leave out what is missing. For .cu files alone.
#pragma once

#include <cstdint>

#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/numerics/device-inl.h"
#include "assay/numerics/reduce.h"

namespace assay::cuda {

using numerics::kRowPiece;
using numerics::device::Device;

inline constexpr unsigned kAllLanes = 0xffffffffu;
inline constexpr int kMaxNarrowThreads = 128;
inline constexpr int kMaxThreads = 1024;

__device__ __forceinline__ int Lane() { return static_cast<int>(threadIdx.x & 31); }

// The sum of the lanes by halving, in every lane.
__device__ __forceinline__ float HalveLanes(float lane) {
#pragma unroll
  for (int h = 16; h > 0; h /= 2) lane = __fadd_rn(lane, __shfl_down_sync(kAllLanes, lane, h));
  return __shfl_sync(kAllLanes, lane, 0);
}

// The maximum where the order does not matter: NaN when there is one, else of two zeros either.
__device__ __forceinline__ float LooseMax(float a, float b) {
  float m;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(m) : "f"(a), "f"(b));
  return m;
}

__device__ __forceinline__ float LooseMaxOfLanes(float lane) {
#pragma unroll
  for (int h = 16; h > 0; h /= 2) lane = LooseMax(lane, __shfl_xor_sync(kAllLanes, lane, h));
  return lane;
}

__device__ __forceinline__ std::int64_t LeastOfLanes(std::int64_t lane) {
#pragma unroll
  for (int h = 16; h > 0; h /= 2) {
    const std::int64_t other = __shfl_xor_sync(kAllLanes, lane, h);
    lane = other < lane ? other : lane;
  }
  return lane;
}

// Of all threads of a block of `warps` warps, in every thread. Every thread must take part; `places` has one for each warp.
__device__ __forceinline__ std::int64_t LeastOfWarps(std::int64_t value, std::int64_t* places, int warp, int warps) {
  value = LeastOfLanes(value);
  if (Lane() == 0) places[warp] = value;
  __syncthreads();
  value = LeastOfLanes(places[Lane() < warps ? Lane() : 0]);
  __syncthreads();
  return value;
}

__device__ __forceinline__ float MinusInfinity() { return __int_as_float(static_cast<int>(0xff800000u)); }

// At most 32 K elements, one warp; 32 K when Exact, which saves the comparisons and the registers that they take.
template <int K, bool Exact>
class NarrowRow {
 public:
  __device__ explicit NarrowRow(std::int64_t n) : n_(static_cast<int>(n)), lane_(Lane()) {}

  template <class Value>
  struct Held {
    float value[K];
    __device__ __forceinline__ float operator()(int k, int) const { return value[k]; }
  };

  // The values of value(k, i), computed once.
  template <class Value>
  __device__ __forceinline__ Held<Value> Hold(const Value& value) const {
    Held<Value> held;
#pragma unroll
    for (int k = 0; k < K; ++k) held.value[k] = Has(k) ? value(k, lane_ + 32 * k) : 0.0f;
    return held;
  }

  template <class Body>
  __device__ __forceinline__ void ForEach(const Body& body) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (Has(k)) body(k, lane_ + 32 * k);
    }
  }

  // S sums at once; step(acc, k, i) takes element i into the lane's accumulators.
  template <int S, class Step>
  __device__ __forceinline__ void Reduce(float (&sum)[S], const Step& step) const {
#pragma unroll
    for (int s = 0; s < S; ++s) sum[s] = 0.0f;
    ForEach([&](int k, int i) { step(sum, k, i); });
#pragma unroll
    for (int s = 0; s < S; ++s) sum[s] = HalveLanes(sum[s]);
  }

  template <class Value>
  __device__ __forceinline__ float Max(const Value& value) const {
    float m = MinusInfinity();
    ForEach([&](int k, int i) { m = LooseMax(m, value(k, i)); });
    return LooseMaxOfLanes(m);
  }

  // The least of the lanes' values, in every lane.
  __device__ __forceinline__ std::int64_t Least(std::int64_t value) const { return LeastOfLanes(value); }

  // Whether the calling thread speaks for the row.
  __device__ __forceinline__ bool leads() const { return lane_ == 0; }

 private:
  __device__ __forceinline__ bool Has(int k) const { return Exact || lane_ + 32 * k < n_; }

  int n_;
  int lane_;
};

inline constexpr int kMediumPieces = 8;

struct MediumSums {
  float sum[2][2][kMediumPieces];  // two in turn, so that one barrier is enough
  std::int64_t index[kMediumPieces];
};

// Up to 8 pieces, all whole when Exact, a block with a warp for each. Every thread must take part in Reduce, Max and Least.
template <bool Exact>
class MediumRow {
 public:
  __device__ MediumRow(std::int64_t n, MediumSums& sums)
      : n_(static_cast<int>(n)),
        warp_(static_cast<int>(threadIdx.x / 32)),
        warps_(static_cast<int>(blockDim.x / 32)),
        first_(warp_ * static_cast<int>(kRowPiece) + Lane()),
        sums_(sums) {}

  template <class Value>
  struct Held {
    float value[32];
    __device__ __forceinline__ float operator()(int k, int) const { return value[k]; }
  };

  template <class Value>
  __device__ __forceinline__ Held<Value> Hold(const Value& value) const {
    Held<Value> held;
#pragma unroll
    for (int k = 0; k < 32; ++k) held.value[k] = Has(k) ? value(k, first_ + 32 * k) : 0.0f;
    return held;
  }

  template <class Body>
  __device__ __forceinline__ void ForEach(const Body& body) const {
#pragma unroll
    for (int k = 0; k < 32; ++k) {
      if (Has(k)) body(k, first_ + 32 * k);
    }
  }

  template <int S, class Step>
  __device__ __forceinline__ void Reduce(float (&sum)[S], const Step& step) const {
    static_assert(S <= 2);
#pragma unroll
    for (int s = 0; s < S; ++s) sum[s] = 0.0f;
    ForEach([&](int k, int i) { step(sum, k, i); });
    turn_ ^= 1;
#pragma unroll
    for (int s = 0; s < S; ++s) {
      sum[s] = HalveLanes(sum[s]);
      if (Lane() == 0) sums_.sum[turn_][s][warp_] = sum[s];
    }
    __syncthreads();
    // Every warp sums the pieces' sums; a single one is not summed again.
#pragma unroll
    for (int s = 0; s < S; ++s) {
      if (warps_ > 1) sum[s] = HalveLanes(Lane() < warps_ ? __fadd_rn(0.0f, sums_.sum[turn_][s][Lane()]) : 0.0f);
    }
  }

  template <class Value>
  __device__ __forceinline__ float Max(const Value& value) const {
    float m = MinusInfinity();
    ForEach([&](int k, int i) { m = LooseMax(m, value(k, i)); });
    m = LooseMaxOfLanes(m);
    turn_ ^= 1;
    if (Lane() == 0) sums_.sum[turn_][0][warp_] = m;
    __syncthreads();
    return LooseMaxOfLanes(Lane() < warps_ ? sums_.sum[turn_][0][Lane()] : MinusInfinity());
  }

  __device__ __forceinline__ std::int64_t Least(std::int64_t value) const {
    return LeastOfWarps(value, sums_.index, warp_, warps_);
  }

  __device__ __forceinline__ bool leads() const { return threadIdx.x == 0; }

 private:
  __device__ __forceinline__ bool Has(int k) const { return Exact || first_ + 32 * k < n_; }

  int n_, warp_, warps_, first_;
  MediumSums& sums_;
  mutable int turn_ = 0;
};

// Sums on their way up: of pieces, of 1024 pieces, of 1024 of those.
template <int S>
struct WideSums {
  float piece[S][1024];
  float second[S][1024];
  float third[S][32];
  float total[S];
  float warp[32];
  std::int64_t index[32];
};

// Any number of elements, one block. Every thread must take part in Reduce and Max.
template <int S>
class WideRow {
 public:
  __device__ WideRow(std::int64_t n, WideSums<S>& sums)
      : n_(n), sums_(sums), warp_(static_cast<int>(threadIdx.x / 32)), warps_(static_cast<int>(blockDim.x / 32)) {}

  template <class Value>
  struct Held {
    Value value;
    __device__ __forceinline__ float operator()(int k, std::int64_t i) const { return value(k, i); }
  };

  // Nothing is held: the row is read again, from a cache most often.
  template <class Value>
  __device__ __forceinline__ Held<Value> Hold(const Value& value) const {
    return {value};
  }

  template <class Body>
  __device__ __forceinline__ void ForEach(const Body& body) const {
#pragma unroll 4
    for (std::int64_t i = threadIdx.x; i < n_; i += blockDim.x) body(0, i);
  }

  template <int N, class Step>
  __device__ __forceinline__ void Reduce(float (&sum)[N], const Step& step) const {
    ReducePieces(sum, [&](std::int64_t piece, float(&of_piece)[N]) { SumPiece(piece, of_piece, step); });
  }

  // The same from the sums of pieces: sum_piece(number, sums) is called by whole warps and gives every lane the sums.
  template <int N, class SumOfPiece>
  __device__ __forceinline__ void ReducePieces(float (&sum)[N], const SumOfPiece& sum_piece) const {
    static_assert(N <= S);
    const std::int64_t pieces = CeilDiv(n_, kRowPiece);
    const std::int64_t groups = CeilDiv(pieces, kRowPiece);
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t begin = group * kRowPiece;
      const int count = static_cast<int>(pieces - begin < kRowPiece ? pieces - begin : kRowPiece);
      for (int p = warp_; p < count; p += warps_) {
        sum_piece(begin + p, sum);
        PutPiece(sum, p);
      }
      __syncthreads();
      if (warp_ == 0) CloseGroup<N>(group, groups, count, pieces > 1);
      __syncthreads();
    }
#pragma unroll
    for (int s = 0; s < N; ++s) sum[s] = groups == 0 ? 0.0f : sums_.total[s];
  }

  template <int N, class Step>
  __device__ __forceinline__ void SumPiece(std::int64_t piece, float (&sum)[N], const Step& step) const {
#pragma unroll
    for (int s = 0; s < N; ++s) sum[s] = 0.0f;
    const std::int64_t first = piece * kRowPiece + Lane();
    if ((piece + 1) * kRowPiece <= n_) {
#pragma unroll 16
      for (int k = 0; k < 32; ++k) step(sum, 0, first + 32 * k);
    } else {
#pragma unroll 8
      for (int k = 0; k < 32; ++k) {
        if (first + 32 * k < n_) step(sum, 0, first + 32 * k);
      }
    }
#pragma unroll
    for (int s = 0; s < N; ++s) sum[s] = HalveLanes(sum[s]);
  }

  template <class Value>
  __device__ __forceinline__ float Max(const Value& value) const {
    float m = MinusInfinity();
#pragma unroll 8
    for (std::int64_t i = threadIdx.x; i < n_; i += blockDim.x) m = LooseMax(m, value(0, i));
    return MaxOfWarps(m);
  }

  // The maximum of all threads' values, in every thread.
  __device__ __forceinline__ float MaxOfWarps(float m) const {
    m = LooseMaxOfLanes(m);
    if (Lane() == 0) sums_.warp[warp_] = m;
    __syncthreads();
    m = LooseMaxOfLanes(Lane() < warps_ ? sums_.warp[Lane()] : MinusInfinity());
    __syncthreads();
    return m;
  }

  __device__ __forceinline__ std::int64_t Least(std::int64_t value) const {
    return LeastOfWarps(value, sums_.index, warp_, warps_);
  }

  __device__ __forceinline__ bool leads() const { return threadIdx.x == 0; }

 private:
  template <int N>
  __device__ __forceinline__ void PutPiece(const float (&sum)[N], int place) const {
    if (Lane() != 0) return;
#pragma unroll
    for (int s = 0; s < N; ++s) sums_.piece[s][place] = sum[s];
  }

  // One warp: the sum of up to 1024 sums.
  static __device__ float SumOf(const float* terms, int count) {
    float lane = 0.0f;
    for (int i = Lane(); i < count; i += 32) lane = __fadd_rn(lane, terms[i]);
    return HalveLanes(lane);
  }

  // The first warp, when the pieces of a group are summed: takes the sum up as far as it is complete. A single sum is not summed
  // again.
  template <int N>
  __device__ void CloseGroup(std::int64_t group, std::int64_t groups, int count, bool several) const {
    const bool last = group + 1 == groups;
    const int place = static_cast<int>(group % kRowPiece);
    for (int s = 0; s < N; ++s) {
      float sum = several ? SumOf(sums_.piece[s], count) : sums_.piece[s][0];
      if (groups > 1) {
        if (Lane() == 0) sums_.second[s][place] = sum;
        __syncwarp();
        if (place + 1 == kRowPiece || last) sum = SumOf(sums_.second[s], place + 1);
      }
      if (groups > kRowPiece && (place + 1 == kRowPiece || last)) {
        const int place_above = static_cast<int>(group / kRowPiece);  // at most 16: rows have at most 2^34 elements
        if (Lane() == 0) sums_.third[s][place_above] = sum;
        __syncwarp();
        sum = SumOf(sums_.third[s], place_above + 1);
      }
      if (last && Lane() == 0) sums_.total[s] = sum;
      __syncwarp();
    }
  }

  std::int64_t n_;
  WideSums<S>& sums_;
  int warp_;
  int warps_;
};

}  // namespace assay::cuda
