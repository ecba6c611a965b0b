// The GPU's arithmetic policy: one float per thread, with the names and the exact semantics of Scalar (scalar.h), and the functions of
// functions.h, activations.h, optimizers.h and random.h compiled for the device, in namespace assay::numerics::device.
//
// For .cu files alone. Compile with --fmad=false --ftz=false --prec-div=true --prec-sqrt=true, so that also an operator in plain C++ rounds once and
// keeps denormals. No function of the CUDA maths library is used. Pure.
#pragma once

#include <cstdint>

#include "assay/base/philox.h"
#include "assay/numerics/optimizers.h"
#include "assay/numerics/random.h"

namespace assay::numerics::device {

struct Device {
  using F = float;
  using I = std::int32_t;
  using M = bool;

  static __device__ F Set(float x) { return x; }
  static __device__ I SetI(std::int32_t x) { return x; }
  static __device__ F Add(F a, F b) { return __fadd_rn(a, b); }
  static __device__ F Sub(F a, F b) { return __fsub_rn(a, b); }
  static __device__ F Mul(F a, F b) { return __fmul_rn(a, b); }
  static __device__ F Div(F a, F b) { return __fdiv_rn(a, b); }
  static __device__ F Neg(F a) { return -a; }
  static __device__ F Abs(F a) { return __int_as_float(__float_as_int(a) & 0x7fffffff); }
  static __device__ F Sqrt(F a) { return __fsqrt_rn(a); }
  static __device__ F Fma(F a, F b, F c) { return __fmaf_rn(a, b, c); }
  static __device__ F NegFma(F a, F b, F c) { return __fmaf_rn(-a, b, c); }
  static __device__ M Lt(F a, F b) { return a < b; }
  static __device__ M Le(F a, F b) { return a <= b; }
  static __device__ M Gt(F a, F b) { return a > b; }
  static __device__ M Ge(F a, F b) { return a >= b; }
  static __device__ M Eq(F a, F b) { return a == b; }
  static __device__ M IsNan(F a) { return a != a; }
  static __device__ M And(M a, M b) { return a && b; }
  static __device__ M Or(M a, M b) { return a || b; }
  static __device__ M Not(M a) { return !a; }
  static __device__ F Select(M m, F yes, F no) { return m ? yes : no; }
  static __device__ I SelectI(M m, I yes, I no) { return m ? yes : no; }

  static __device__ I Bits(F a) { return __float_as_int(a); }
  static __device__ F FromBits(I a) { return __int_as_float(a); }
  static __device__ I AddI(I a, I b) { return static_cast<I>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b)); }
  static __device__ I SubI(I a, I b) { return static_cast<I>(static_cast<std::uint32_t>(a) - static_cast<std::uint32_t>(b)); }
  static __device__ I AndI(I a, I b) { return a & b; }
  static __device__ I OrI(I a, I b) { return a | b; }
  static __device__ I XorI(I a, I b) { return a ^ b; }
  template <int n>
  static __device__ I Shl(I a) {
    return static_cast<I>(static_cast<std::uint32_t>(a) << n);
  }
  template <int n>
  static __device__ I Sar(I a) {
    return a >> n;
  }
  template <int n>
  static __device__ I Shr(I a) {
    return static_cast<I>(static_cast<std::uint32_t>(a) >> n);
  }
  static __device__ M EqI(I a, I b) { return a == b; }
  static __device__ M LtI(I a, I b) { return a < b; }
  static __device__ F ToFloat(I a) { return __int2float_rn(a); }
  static __device__ I ToIntExact(F a) { return __float2int_rz(a); }
  static __device__ double SqrtDouble(double a) { return __dsqrt_rn(a); }
  static __device__ std::uint64_t BitsOfDouble(double a) { return static_cast<std::uint64_t>(__double_as_longlong(a)); }
  static __device__ double DoubleFromBits(std::uint64_t a) { return __longlong_as_double(static_cast<long long>(a)); }

  static __device__ F Max(F a, F b) { return b > a || b != b ? b : a; }
  static __device__ F Canonical(F a) { return a != a ? __int_as_float(static_cast<int>(kCanonicalNan)) : a; }
  static __device__ F AtMost(F a, float limit) { return a > limit ? limit : a; }
  static __device__ F AtLeast(F a, float limit) { return a < limit ? limit : a; }
  template <class Slow>
  static __device__ F Patch(M m, F x, F fast, Slow slow) {
    return m ? slow(x) : fast;
  }
  template <class Function>
  static __device__ F Map(F x, float y, Function function) {
    return function(x, y);
  }
};

// The slow ways out are called, not inlined: they are rare, and long.
__device__ float LogSpecial(float x);
__device__ float SinLarge(float x);
__device__ float CosLarge(float x);
__device__ float RsqrtSpecial(float x);
__device__ float PowScalar(float x, float y);

#define ASSAY_NUMERICS_INLINE __device__ __forceinline__
#include "assay/numerics/circular.inc"
#include "assay/numerics/exponential.inc"
#include "assay/numerics/power.inc"
// These use the ones above.
#include "assay/numerics/activations.inc"
#include "assay/numerics/optimizer_scalars.inc"
#include "assay/numerics/optimizers.inc"
#include "assay/numerics/special.inc"
#undef ASSAY_NUMERICS_INLINE

__device__ __noinline__ inline float LogSpecial(float x) { return LogSpecialOf<Device>(x); }
__device__ __noinline__ inline float SinLarge(float x) { return SinLargeOf<Device>(x); }
__device__ __noinline__ inline float CosLarge(float x) { return CosLargeOf<Device>(x); }
__device__ __noinline__ inline float RsqrtSpecial(float x) { return RsqrtSpecialOf<Device>(x); }
__device__ __noinline__ inline float PowScalar(float x, float y) { return PowScalarOf<Device>(x, y); }

}  // namespace assay::numerics::device
