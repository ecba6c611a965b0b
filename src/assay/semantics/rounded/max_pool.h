// The greatest element of a window, for the values of max_pool2d and for their places. Pure; thread safe.
#pragma once

#include <cstdint>

#include "assay/ops/pool_geometry.h"

namespace assay::rounded {

struct MaxTap {
  float value = 0;
  std::int64_t pixel = -1;  // h * W + w
};

// `window` counts through [N, OH, OW]. Of equal elements the first in (kh, kw) order; the first NaN wins over everything.
MaxTap MaxOf(const ops::PoolGeometry& g, const float* x, std::int64_t window, std::int64_t channel);

}  // namespace assay::rounded
