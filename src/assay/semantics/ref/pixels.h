// Where an element of images [N, H, W, C] is. Pure; thread safe.
#pragma once

#include <cstdint>

#include "assay/tensor/shape.h"

namespace assay::ref {

struct Pixel {
  std::int64_t n, h, w, c;
};

inline Pixel PixelOf(std::int64_t i, const Shape& shape) {
  const std::int64_t p = i / shape[3];
  return {p / (shape[1] * shape[2]), p / shape[2] % shape[1], p % shape[2], i % shape[3]};
}

inline std::int64_t IndexOf(const Pixel& p, const Shape& shape) {
  return ((p.n * shape[1] + p.h) * shape[2] + p.w) * shape[3] + p.c;
}

}  // namespace assay::ref
