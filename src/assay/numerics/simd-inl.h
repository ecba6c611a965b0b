// The SIMD arithmetic policy: full Highway vectors of float, with the names and the exact semantics of Scalar (scalar.h), and the functions
// of functions.h, activations.h and optimizers.h compiled for the current Highway target.
//
// Include it after hwy/highway.h in a file compiled through foreach_target.h, outside any namespace; use it as
// `namespace nm = assay::numerics::HWY_NAMESPACE;` and `nm::Exp<nm::Simd>(v)`. Every operation is IEEE's, so lane i's result is what Scalar
// gives for lane i. Pure; thread safe.

#if defined(ASSAY_NUMERICS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_NUMERICS_SIMD_INL_H_
#undef ASSAY_NUMERICS_SIMD_INL_H_
#else
#define ASSAY_NUMERICS_SIMD_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "assay/numerics/activations.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/optimizers.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::numerics::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Simd {
  using D = hn::ScalableTag<float>;
  using DI = hn::ScalableTag<std::int32_t>;
  using F = hn::Vec<D>;
  using I = hn::Vec<DI>;
  using M = hn::Mask<D>;

  static constexpr std::size_t kLanes = hn::MaxLanes(D());  // the targets compiled have vectors of one fixed size

  static HWY_INLINE F Load(const float* p) { return hn::LoadU(D(), p); }
  static HWY_INLINE void Store(F a, float* p) { hn::StoreU(a, D(), p); }
  // `count` < kLanes elements; the other lanes are zero. Touches nothing beyond them.
  static HWY_INLINE F LoadSome(const float* p, std::size_t count) {
    HWY_ALIGN float lanes[kLanes] = {};
    std::memcpy(lanes, p, count * sizeof(float));
    return hn::Load(D(), lanes);
  }
  static HWY_INLINE void StoreSome(F a, float* p, std::size_t count) {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(a, D(), lanes);
    std::memcpy(p, lanes, count * sizeof(float));
  }

  static HWY_INLINE F Set(float x) { return hn::Set(D(), x); }
  static HWY_INLINE I SetI(std::int32_t x) { return hn::Set(DI(), x); }
  static HWY_INLINE F Add(F a, F b) { return hn::Add(a, b); }
  static HWY_INLINE F Sub(F a, F b) { return hn::Sub(a, b); }
  static HWY_INLINE F Mul(F a, F b) { return hn::Mul(a, b); }
  static HWY_INLINE F Div(F a, F b) { return hn::Div(a, b); }
  static HWY_INLINE F Neg(F a) { return hn::Neg(a); }
  static HWY_INLINE F Abs(F a) { return hn::Abs(a); }
  static HWY_INLINE F Sqrt(F a) { return hn::Sqrt(a); }
  static HWY_INLINE F Fma(F a, F b, F c) { return hn::MulAdd(a, b, c); }
  static HWY_INLINE F NegFma(F a, F b, F c) { return hn::NegMulAdd(a, b, c); }
  static HWY_INLINE M Lt(F a, F b) { return hn::Lt(a, b); }
  static HWY_INLINE M Le(F a, F b) { return hn::Le(a, b); }
  static HWY_INLINE M Gt(F a, F b) { return hn::Gt(a, b); }
  static HWY_INLINE M Ge(F a, F b) { return hn::Ge(a, b); }
  static HWY_INLINE M Eq(F a, F b) { return hn::Eq(a, b); }
  static HWY_INLINE M IsNan(F a) { return hn::IsNaN(a); }  // not Ne: on x86 it is false when unordered
  static HWY_INLINE M And(M a, M b) { return hn::And(a, b); }
  static HWY_INLINE M Or(M a, M b) { return hn::Or(a, b); }
  static HWY_INLINE M Not(M a) { return hn::Not(a); }
  static HWY_INLINE F Select(M m, F yes, F no) { return hn::IfThenElse(m, yes, no); }
  static HWY_INLINE I SelectI(M m, I yes, I no) { return hn::IfThenElse(hn::RebindMask(DI(), m), yes, no); }

  static HWY_INLINE I Bits(F a) { return hn::BitCast(DI(), a); }
  static HWY_INLINE F FromBits(I a) { return hn::BitCast(D(), a); }
  static HWY_INLINE I AddI(I a, I b) { return hn::Add(a, b); }
  static HWY_INLINE I SubI(I a, I b) { return hn::Sub(a, b); }
  static HWY_INLINE I AndI(I a, I b) { return hn::And(a, b); }
  static HWY_INLINE I OrI(I a, I b) { return hn::Or(a, b); }
  static HWY_INLINE I XorI(I a, I b) { return hn::Xor(a, b); }
  template <int n>
  static HWY_INLINE I Shl(I a) {
    return hn::ShiftLeft<n>(a);
  }
  template <int n>
  static HWY_INLINE I Sar(I a) {
    return hn::ShiftRight<n>(a);
  }
  template <int n>
  static HWY_INLINE I Shr(I a) {
    const hn::ScalableTag<std::uint32_t> du;
    return hn::BitCast(DI(), hn::ShiftRight<n>(hn::BitCast(du, a)));
  }
  static HWY_INLINE M EqI(I a, I b) { return hn::RebindMask(D(), hn::Eq(a, b)); }
  static HWY_INLINE M LtI(I a, I b) { return hn::RebindMask(D(), hn::Lt(a, b)); }
  static HWY_INLINE F ToFloat(I a) { return hn::ConvertTo(D(), a); }
  static HWY_INLINE I ToIntExact(F a) { return hn::ConvertTo(DI(), a); }

  static HWY_INLINE F Max(F a, F b) { return Select(Or(Gt(b, a), IsNan(b)), b, a); }
  static HWY_INLINE F Canonical(F a) { return Select(IsNan(a), FromBits(SetI(static_cast<std::int32_t>(kCanonicalNan))), a); }
#if HWY_ARCH_X86
  // MINPS and MAXPS return their second operand unless the comparison holds, which is what the policy asks for.
  static HWY_INLINE F AtMost(F a, float limit) { return hn::Min(Set(limit), a); }
  static HWY_INLINE F AtLeast(F a, float limit) { return hn::Max(Set(limit), a); }
#else
  static HWY_INLINE F AtMost(F a, float limit) { return Select(Gt(a, Set(limit)), Set(limit), a); }
  static HWY_INLINE F AtLeast(F a, float limit) { return Select(Lt(a, Set(limit)), Set(limit), a); }
#endif

  static HWY_INLINE F Patch(M m, F x, F fast, float (*slow)(float)) {
    if (HWY_LIKELY(hn::AllFalse(D(), m))) return fast;
    HWY_ALIGN float xs[kLanes];
    HWY_ALIGN float ys[kLanes];
    HWY_ALIGN float chosen[kLanes];
    hn::Store(x, D(), xs);
    hn::Store(fast, D(), ys);
    hn::Store(Select(m, Set(1.0f), Set(0.0f)), D(), chosen);
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (chosen[i] != 0) ys[i] = slow(xs[i]);
    }
    return hn::Load(D(), ys);
  }
  static HWY_INLINE F Map(F x, float y, float (*function)(float, float)) {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(x, D(), lanes);
    for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = function(lanes[i], y);
    return hn::Load(D(), lanes);
  }
};

#define ASSAY_NUMERICS_INLINE HWY_INLINE
#include "assay/numerics/circular.inc"
#include "assay/numerics/exponential.inc"
#include "assay/numerics/power.inc"

// These use the ones above.
#include "assay/numerics/activations.inc"
#include "assay/numerics/optimizers.inc"
#undef ASSAY_NUMERICS_INLINE

}  // namespace assay::numerics::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_NUMERICS_SIMD_INL_H_
