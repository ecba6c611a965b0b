// Sums along rows on the device, in double or Near.
//
// A row is taken by a team: a warp where it is short, a block of threads otherwise. A body is written once for both: it takes the row's number and the team, and asks the team for Sum and Range,
// in which all threads take part and which give every thread the same, and for ForEach. For .cu files alone.
//
// Order of a sum: thread t of P takes terms t, t + P, ... (SumOwn), then the threads are added in pairs. With m = ⌈n/P⌉ a term passes through at most SumDepth(m) - 1 + log2 P additions. A block has
// P >= 128, hence m <= ⌈n/128⌉, and for n > 128 SumDepth(n) = 128 + SumDepth(⌈n/128⌉) is more. In a warp m is at most 8.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "assay/backend/cublas/sums-inl.h"
#include "assay/backend/cuda/launch-inl.h"

namespace assay::cublas {

using numerics::internal::BoundedPart;
using numerics::internal::PlainPart;

// The least and the greatest of values. A NaN is the greatest.
struct RangeOf {
  float least = std::numeric_limits<float>::infinity(), most = -std::numeric_limits<float>::infinity();
  RangeOf() = default;
  __device__ explicit RangeOf(float x) : least(x), most(x) {}
  __device__ RangeOf& operator+=(const RangeOf& b) {
    least = b.least < least ? b.least : least;
    most = b.most > most || b.most != b.most ? b.most : most;
    return *this;
  }
};

// What the lane `step` away has.
template <class Value>
__device__ __forceinline__ Value FromLane(Value v, int step) {
  return __shfl_xor_sync(0xffffffffu, v, step);
}
__device__ __forceinline__ PlainPart FromLane(const PlainPart& part, int step) { return PlainPart(FromLane(part.v, step)); }
__device__ __forceinline__ BoundedPart<double> FromLane(const BoundedPart<double>& part, int step) {
  BoundedPart<double> other;
  other.v = FromLane(part.v, step);
  other.e = FromLane(part.e, step);
  other.magnitude = FromLane(part.magnitude, step);
  other.quantum = FromLane(part.quantum, step);
  return other;
}
__device__ __forceinline__ RangeOf FromLane(const RangeOf& range, int step) {
  RangeOf other;
  other.least = FromLane(range.least, step);
  other.most = FromLane(range.most, step);
  return other;
}

// The parts of a warp's lanes, added in pairs: a + b is b + a, so that all lanes have the same.
template <class Part>
__device__ __forceinline__ Part AddLanes(Part part) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) part += FromLane(part, step);
  return part;
}

// Team: what WarpTeam and BlockTeam have in common. Derived has thread(), threads(), Own<Part>(n, term) and Add(part), the sum of all threads' parts.
template <class Derived>
class Team {
 public:
  // The sum of term(0) ... term(n - 1), each a T: as numerics::Sum, with its bound.
  template <class T, class Term>
  __device__ __forceinline__ T Sum(std::int64_t n, const Term& term) const {
    using Part = typename numerics::internal::PartOf<T>::Type;
    const Part sum = self().Add(self().template Own<Part>(n, term));
    if constexpr (std::is_same_v<T, double>) {
      return sum.v;
    } else {
      return T(sum.v, numerics::SumError(numerics::SumDepth(n), sum.e, sum.magnitude, sum.quantum));
    }
  }

  // The range of value(0) ... value(n - 1), binary32.
  template <class Value>
  __device__ __forceinline__ RangeOf Range(std::int64_t n, const Value& value) const {
    RangeOf range;
    ForEach(n, [&](std::int64_t i) { range += RangeOf(value(i)); });
    return self().Add(range);
  }

  template <class Body>
  __device__ __forceinline__ void ForEach(std::int64_t n, const Body& body) const {
#pragma unroll 4
    for (std::int64_t i = self().thread(); i < n; i += self().threads()) body(i);
  }

  // Whether the calling thread speaks for the row.
  __device__ bool leads() const { return self().thread() == 0; }

 private:
  __device__ const Derived& self() const { return static_cast<const Derived&>(*this); }
};

inline constexpr int kWarpRow = 256;  // elements that a warp takes; 8 for each lane

class WarpTeam : public Team<WarpTeam> {
 public:
  __device__ int thread() const { return static_cast<int>(threadIdx.x % 32); }
  __device__ int threads() const { return 32; }

  template <class Part, class Term>
  __device__ __forceinline__ Part Own(std::int64_t n, const Term& term) const {
    std::int64_t i = thread();
    return SumBlocks<0, Part>(i, n, 32, term);
  }
  template <class Part>
  __device__ __forceinline__ Part Add(const Part& part) const {
    return AddLanes(part);
  }
};

inline constexpr int kMaxRowThreads = 512;

struct BlockMemory {
  double place[kMaxRowThreads / 32][4];  // the part of each warp
};

class BlockTeam : public Team<BlockTeam> {
 public:
  __device__ explicit BlockTeam(BlockMemory& memory) : memory_(memory) {}

  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }

  template <class Part, class Term>
  __device__ __forceinline__ Part Own(std::int64_t n, const Term& term) const {
    return SumOwn<Part>(thread(), n, threads(), term);
  }
  template <class Part>
  __device__ __forceinline__ Part Add(const Part& part) const {
    static_assert(sizeof(Part) <= sizeof memory_.place[0]);
    const int lane = thread() % 32, warp = thread() / 32;
    const Part of_warp = AddLanes(part);
    __syncthreads();  // what was there has been read
    if (lane == 0) *reinterpret_cast<Part*>(memory_.place[warp]) = of_warp;
    __syncthreads();
    return AddLanes(lane < threads() / 32 ? *reinterpret_cast<const Part*>(memory_.place[lane]) : Part());
  }

 private:
  BlockMemory& memory_;
};

// Op: op(row, team) for each row.
template <class Op>
__global__ void __launch_bounds__(128) WarpRows(const __grid_constant__ Op op, std::int64_t rows) {
  const std::int64_t stride = cuda::GlobalThreads<std::int64_t>() / 32;
  for (std::int64_t row = cuda::GlobalThread<std::int64_t>() / 32; row < rows; row += stride) op(row, WarpTeam());
}

template <class Op>
__global__ void __launch_bounds__(kMaxRowThreads) BlockRows(const __grid_constant__ Op op, std::int64_t rows) {
  __shared__ BlockMemory memory;
  const BlockTeam team(memory);
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) op(row, team);
}

template <class Op>
void LaunchRows(const Op& op, std::int64_t rows, std::int64_t n, Context& context, const char* name) {
  if (rows == 0) return;
  if (n <= kWarpRow) {
    WarpRows<<<cuda::GridFor(rows, 4), 128, 0, context.stream()>>>(op, rows);
  } else {
    const unsigned threads = n <= 2048 ? 128 : n <= 8192 ? 256 : kMaxRowThreads;
    BlockRows<<<cuda::GridFor(rows, 1), threads, 0, context.stream()>>>(op, rows);
  }
  cuda::CheckLaunch(name);
}

}  // namespace assay::cublas
