// What a block of K adds to one result of a product of digits (docs/NUMERICS.md, section 7). Device.
#pragma once

#include <cstdint>

#include "assay/numerics/device-inl.h"
#include "assay/numerics/digits.h"

namespace assay::cuda::digits {

// `sums` by order. Where blocks of a may be missing, their scale is 0.
template <int n>
__device__ __forceinline__ void AddBlock(float& total, const std::int32_t (&sums)[n], float scale_a, float scale_b,
                                         bool lacks) {
  if (lacks && scale_a == 0.0f) return;
  const std::int32_t upper = 256 * sums[0] + sums[1];
  const float joined = n == 3 ? numerics::JoinThree(upper, sums[n - 1]) : numerics::JoinTwo(upper);
  total = __fadd_rn(total, __fmul_rn(joined, __fmul_rn(scale_a, scale_b)));
}

}  // namespace assay::cuda::digits
