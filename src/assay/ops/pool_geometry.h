// The geometry of 2-D pooling, shared by rules and kernels: which taps of an image a window covers, and which windows cover a pixel.
// Inference guarantees pad < kernel and kernel <= extent + 2 pad, so that every window holds at least one pixel. Pure; thread safe.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/graph/op_def.h"

namespace assay::ops {

// One spatial axis.
struct PoolAxis {
  std::int64_t in = 0, out = 0, kernel = 0, stride = 0, pad = 0;

  // The pixels [begin, end) of windows `windows`.
  Range Pixels(Range windows) const {
    return {std::max<std::int64_t>(windows.begin * stride - pad, 0), std::min((windows.end - 1) * stride - pad + kernel, in)};
  }
  // The windows [begin, end) that cover any of `pixels`; may be empty when the stride is larger than the kernel.
  Range Windows(Range pixels) const {
    const std::int64_t first = pixels.begin + pad - kernel + 1;
    return {first <= 0 ? 0 : (first + stride - 1) / stride, std::min((pixels.end - 1 + pad) / stride + 1, out)};
  }
};

struct PoolGeometry {
  std::int64_t images = 0, channels = 0;
  PoolAxis h, w;
  float window() const { return static_cast<float>(h.kernel * w.kernel); }
};

// From attributes kernel_h, kernel_w, stride, pad and the two images' shapes [N, H, W, C] and [N, OH, OW, C].
inline PoolGeometry PoolGeometryOf(const Attrs& attrs, const Shape& image, const Shape& pooled) {
  return {.images = image[0],
          .channels = image[3],
          .h = {image[1], pooled[1], attrs.Int(0), attrs.Int(2), attrs.Int(3)},
          .w = {image[2], pooled[2], attrs.Int(1), attrs.Int(2), attrs.Int(3)}};
}

}  // namespace assay::ops
