// Activation functions and their gradients over an arithmetic policy, operation by operation as docs/NUMERICS.md writes them. A fused
// kernel that calls these gives the bits of the op. Pure; thread safe.
#pragma once

#include "assay/numerics/functions.h"

namespace assay::numerics {

#define ASSAY_NUMERICS_INLINE inline
#include "assay/numerics/activations.inc"
#undef ASSAY_NUMERICS_INLINE

}  // namespace assay::numerics
