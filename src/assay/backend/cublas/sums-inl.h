// What sums along rows and down columns share on the device: the choice of the number type, and a thread's own share of a long sum.
//
// No term may pass through more than numerics::SumDepth(n) inexact additions (docs/ROUNDING.md, section 2); adding to zero is exact. With n <= 128 every tree of the n terms will do.
// For .cu files alone.
#pragma once

#include <cstdint>
#include <span>

#include "assay/backend/cublas/kernels.h"
#include "assay/numerics/sums.h"

namespace assay::cublas {

// Whether an op is to be computed in Near; else double will do.
inline bool AnyBounded(std::span<const Sink> sinks) {
  for (const Sink& sink : sinks) {
    if (sink.bounded()) return true;
  }
  return false;
}

inline constexpr int kSumBlock = 128;

// Adds term(i), term(i + stride), ... below n, at most 128^(kLevel + 1) of them, and leaves i behind the last: blocks of 128, blocks of 128 sums of blocks, and so on. A term passes
// through at most SumDepth(m) - 1 additions, where m is the number of terms.
template <int kLevel, class Sum, class Term>
__device__ __forceinline__ Sum SumBlocks(std::int64_t& i, std::int64_t n, std::int64_t stride, const Term& term) {
  Sum sum;
  if constexpr (kLevel > 0) {
    for (int k = 0; k < kSumBlock && i < n; ++k) sum += SumBlocks<kLevel - 1, Sum>(i, n, stride, term);
  } else if (n - i > (kSumBlock - 1) * stride) {
#pragma unroll 8
    for (int k = 0; k < kSumBlock; ++k) sum += Sum(term(i + k * stride));
    i += kSumBlock * stride;
  } else {
#pragma unroll 4
    for (; i < n; i += stride) sum += Sum(term(i));
  }
  return sum;
}

// All of them: four levels are enough for tensors, whose 2^34 elements are shared by 64 threads or more.
template <class Sum, class Term>
__device__ __forceinline__ Sum SumOwn(std::int64_t first, std::int64_t n, std::int64_t stride, const Term& term) {
  return SumBlocks<3, Sum>(first, n, stride, term);
}

}  // namespace assay::cublas
