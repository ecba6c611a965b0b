// Positions in the order of their ids, for the gradient of embedding. For .cu files alone.
#pragma once

#include "assay/backend/cuda/launch-inl.h"

namespace assay::cuda {

inline constexpr int kMaxSortThreads = 256;
inline constexpr int kSortedAtOnce = 8;  // positions that a warp places at once

// Positions sorted by their ids, those of one id ascending.
struct Sorted {
  std::int32_t* position;
  std::int32_t* id;
};

// A position's place is the number of those that come before it, which a warp counts for neighbours at once.
static __global__ void __launch_bounds__(kMaxSortThreads, 1)
    SortPositions(const std::int32_t* ids, std::int64_t positions, Sorted sorted) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t first = GlobalThread<std::int64_t>() / 32 * kSortedAtOnce;
  if (first >= positions) return;
  std::int32_t own[kSortedAtOnce];
  int before[kSortedAtOnce];
#pragma unroll
  for (int a = 0; a < kSortedAtOnce; ++a) {
    own[a] = first + a < positions ? __ldg(ids + first + a) : 0;
    before[a] = 0;
  }
#pragma unroll 4
  for (std::int64_t q = lane; q < first; q += 32) {
    const std::int32_t id = __ldg(ids + q);
#pragma unroll
    for (int a = 0; a < kSortedAtOnce; ++a) before[a] += id <= own[a] ? 1 : 0;
  }
#pragma unroll 4
  for (std::int64_t q = first + kSortedAtOnce + lane; q < positions; q += 32) {
    const std::int32_t id = __ldg(ids + q);
#pragma unroll
    for (int a = 0; a < kSortedAtOnce; ++a) before[a] += id < own[a] ? 1 : 0;
  }
#pragma unroll
  for (int a = 0; a < kSortedAtOnce; ++a) {
    int place = __reduce_add_sync(0xffffffffu, before[a]);
#pragma unroll
    for (int other = 0; other < kSortedAtOnce; ++other) {
      if (first + other < positions && other != a) place += (other < a ? own[other] <= own[a] : own[other] < own[a]) ? 1 : 0;
    }
    if (lane != 0 || first + a >= positions) continue;
    sorted.position[place] = static_cast<std::int32_t>(first + a);
    sorted.id[place] = own[a];
  }
}

// Enqueues the sorting of fewer than 2^31 positions.
inline void SortPositionsOf(const std::int32_t* ids, std::int64_t positions, const Sorted& sorted, int threads,
                            cudaStream_t stream) {
  if (positions == 0) return;
  SortPositions<<<static_cast<unsigned>(CeilDiv(CeilDiv(positions, kSortedAtOnce), threads / 32)), threads, 0, stream>>>(
      ids, positions, sorted);
  CheckLaunch("SortPositions");
}

}  // namespace assay::cuda
