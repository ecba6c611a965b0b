// What the reductions and their derivations have in common. Pure; thread safe.
#pragma once

namespace assay::ref {

// Whether x is the maximum y of its row, for row_max_grad: NaN is NaN.
inline bool IsMaximum(float x, float y) { return x == y || (y != y && x != x); }

// What clip_scale multiplies gradients of norm `norm` by.
inline float ClipFactor(float norm, float max_norm) {
  return max_norm > 0.0f && norm > max_norm ? max_norm / (norm + 1e-6f) : 1.0f;
}

}  // namespace assay::ref
