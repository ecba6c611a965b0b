#include "assay/numerics/functions.h"

namespace assay::numerics {

#define ASSAY_NUMERICS_INLINE inline
#include "assay/numerics/special.inc"
#undef ASSAY_NUMERICS_INLINE

float LogSpecial(float x) { return LogSpecialOf<Scalar>(x); }
float SinLarge(float x) { return SinLargeOf<Scalar>(x); }
float CosLarge(float x) { return CosLargeOf<Scalar>(x); }
float RsqrtSpecial(float x) { return RsqrtSpecialOf<Scalar>(x); }
float PowScalar(float x, float y) { return PowScalarOf<Scalar>(x, y); }

}  // namespace assay::numerics
