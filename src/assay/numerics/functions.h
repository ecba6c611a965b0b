// The elementary functions: Exp, Log, Tanh, Erf, Sin, Cos, Rsqrt, Pow as templates over an arithmetic policy (scalar.h, simd-inl.h).
//
// Every function is at most 1 ulp from the true value for every binary32 argument, denormals included (tests/exhaustive), and gives the
// same bits under every policy: fast formulas are straight-line float arithmetic; arguments they do not cover go, lane by
// lane, to the scalar functions declared here. NaN gives NaN (of unspecified payload; operators canonicalise). Pure; thread safe.
#pragma once

#include <cstdint>

#include "assay/numerics/scalar.h"

namespace assay::numerics {

float LogSpecial(float x);  // x not a positive normal number
float SinLarge(float x);    // |x| >= 2^17, or not finite
float CosLarge(float x);
float RsqrtSpecial(float x);  // x below 2^-100, or not finite
float PowScalar(float x, float y);

#define ASSAY_NUMERICS_INLINE inline
#include "assay/numerics/circular.inc"
#include "assay/numerics/exponential.inc"
#include "assay/numerics/power.inc"
#undef ASSAY_NUMERICS_INLINE

}  // namespace assay::numerics
