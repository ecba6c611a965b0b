// Fma: a * b + c, rounded once. The one place from which everything that defines bits takes it: the processor's, or where WebAssembly has none ours, since the
// one in its C library rounds wrongly about once in a million (soft_fma.h). Pure; thread safe.
#pragma once

#include <cmath>

#include "assay/numerics/host_device.h"
#ifdef __wasm__
#include "assay/numerics/soft_fma.h"
#endif

namespace assay::numerics {

#ifdef __wasm__
inline float Fma(float a, float b, float c) { return SoftFma(a, b, c); }
inline double Fma(double a, double b, double c) { return SoftFma(a, b, c); }
#else
ASSAY_HD inline float Fma(float a, float b, float c) { return std::fma(a, b, c); }
ASSAY_HD inline double Fma(double a, double b, double c) { return std::fma(a, b, c); }
#endif

}  // namespace assay::numerics
