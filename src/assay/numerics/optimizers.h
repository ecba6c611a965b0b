// One element of an optimizer's update over an arithmetic policy, as docs/NUMERICS.md writes it, and the scalars that are the same for all
// elements of a call. Pure; thread safe.
#pragma once

#include <cstdint>

#include "assay/numerics/functions.h"

namespace assay::numerics {

struct SgdScalars {
  float factor, weight_decay, momentum, damped, minus_lr;
  bool nesterov;
};

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

#define ASSAY_NUMERICS_INLINE inline
#include "assay/numerics/optimizer_scalars.inc"
#include "assay/numerics/optimizers.inc"
#undef ASSAY_NUMERICS_INLINE

}  // namespace assay::numerics
