// How far two sets of weights are apart, in the measures that the published rule names. Pure.
#pragma once

#include <span>

#include "assay/tensor/safetensors.h"

namespace assay::own {

struct Distance {
  double l1 = 0, l2 = 0, linf = 0;
  double cosine = 0;  // 1 less the cosine of the angle between them; 0 where one of them is all zeros and both are equal
};

// Both have the same tensors in the same order, f32 in host memory; tensors of other types do not count.
Distance DistanceOf(std::span<const TensorRef> a, std::span<const TensorRef> b);

}  // namespace assay::own
