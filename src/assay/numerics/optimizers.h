// One element of an optimizer's update over an arithmetic policy, as docs/NUMERICS.md writes it, and the scalars that are the same for all
// elements of a call. Pure; thread safe.
#pragma once

#include <cmath>
#include <cstdint>

#include "assay/numerics/functions.h"

namespace assay::numerics {

struct SgdScalars {
  float factor, weight_decay, momentum, damped, minus_lr;
  bool nesterov;
};

inline SgdScalars MakeSgdScalars(float momentum, float dampening, float weight_decay, bool nesterov, float lr, float factor) {
  return {factor, weight_decay, momentum, 1.0f - dampening, -lr, nesterov};
}

struct AdamScalars {
  float factor;
  float coupled_decay;  // added to the gradient; 0: none
  float shrink;         // the parameter is multiplied by it when `decoupled`
  bool decoupled;
  float beta1, beta2, rest1, rest2;
  float root2;  // sqrt(1 - beta2^step)
  float eps;
  float minus_lr1;  // -(lr / (1 - beta1^step))
};

// adamw when `decoupled`, else adam.
inline AdamScalars MakeAdamScalars(float beta1, float beta2, float eps, float weight_decay, bool decoupled, float lr,
                                   float factor, std::int64_t step) {
  const float exponent = static_cast<float>(step);
  const float c1 = 1.0f - PowScalar(beta1, exponent);
  const float c2 = 1.0f - PowScalar(beta2, exponent);
  return {.factor = factor,
          .coupled_decay = decoupled ? 0.0f : weight_decay,
          .shrink = 1.0f - lr * weight_decay,
          .decoupled = decoupled && weight_decay != 0,
          .beta1 = beta1,
          .beta2 = beta2,
          .rest1 = 1.0f - beta1,
          .rest2 = 1.0f - beta2,
          .root2 = std::sqrt(c2),
          .eps = eps,
          .minus_lr1 = -(lr / c1)};
}

#define ASSAY_NUMERICS_INLINE inline
#include "assay/numerics/optimizers.inc"
#undef ASSAY_NUMERICS_INLINE

}  // namespace assay::numerics
