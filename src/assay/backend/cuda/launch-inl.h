// What the launchers of rows, columns and images share: shapes of grids, and division by a number that is fixed for a launch.
//
// For .cu files alone. Host functions unless marked. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/backend/cuda/kernels.h"
#include "assay/numerics/device-inl.h"

namespace assay::cuda {

constexpr __host__ __device__ std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Threads of a block: the forced number, as far as the kernel can take it, or the launcher's own choice.
inline int ThreadsOr(const Context& context, int own, int most) {
  return context.tuning().threads == 0 ? own : std::min(context.tuning().threads, most);
}

inline constexpr std::int64_t kMaxGrid = std::int64_t{1} << 24;

// Blocks for `work` pieces of `per_block`. Kernels loop when the grid ends before the work does.
inline unsigned GridFor(std::int64_t work, std::int64_t per_block) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(CeilDiv(work, per_block), 1, kMaxGrid));
}

// Whether indices below `elements`, and the sum of two of them, fit in 32 bits.
inline bool FitsIndex32(std::int64_t elements) { return elements < (std::int64_t{1} << 31); }

// Division by a number that is at least 1. The 32-bit form is a multiplication and takes dividends below 2^31.
template <class Index>
class Divisor;

template <>
class Divisor<std::uint64_t> {
 public:
  Divisor() = default;
  explicit Divisor(std::int64_t divisor) : divisor_(static_cast<std::uint64_t>(divisor)) {}
  __device__ std::uint64_t Divide(std::uint64_t n, std::uint64_t& rest) const {
    const std::uint64_t quotient = n / divisor_;
    rest = n - quotient * divisor_;
    return quotient;
  }

 private:
  std::uint64_t divisor_ = 1;
};

template <>
class Divisor<std::uint32_t> {
 public:
  Divisor() = default;
  explicit Divisor(std::int64_t divisor) : divisor_(static_cast<std::uint32_t>(divisor)) {
    while ((std::uint64_t{1} << shift_) < divisor_) ++shift_;
    const std::uint64_t power = std::uint64_t{1} << shift_;
    factor_ = static_cast<std::uint32_t>((power - divisor_) * (std::uint64_t{1} << 32) / divisor_ + 1);
  }
  __device__ std::uint32_t Divide(std::uint32_t n, std::uint32_t& rest) const {
    const std::uint32_t quotient = (__umulhi(n, factor_) + n) >> shift_;
    rest = n - quotient * divisor_;
    return quotient;
  }

 private:
  std::uint32_t divisor_ = 1, factor_ = 1;
  int shift_ = 0;
};

// Index of the calling thread in the whole grid, and the grid's size.
template <class Index>
__device__ __forceinline__ Index GlobalThread() {
  return static_cast<Index>(blockIdx.x) * blockDim.x + threadIdx.x;
}
template <class Index>
__device__ __forceinline__ Index GlobalThreads() {
  return static_cast<Index>(gridDim.x) * blockDim.x;
}

}  // namespace assay::cuda
