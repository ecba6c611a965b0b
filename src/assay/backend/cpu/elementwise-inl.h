// Loops of the elementwise kernels: full vectors, then one partial vector that touches nothing beyond the last element. An output may be in
// the place of an input, and pointers need no alignment. Include it after hwy/highway.h in a file compiled through foreach_target.h.

#if defined(ASSAY_BACKEND_CPU_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_ELEMENTWISE_INL_H_
#undef ASSAY_BACKEND_CPU_ELEMENTWISE_INL_H_
#else
#define ASSAY_BACKEND_CPU_ELEMENTWISE_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "assay/backend/backend.h"
#include "assay/numerics/simd-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace nm = numerics::HWY_NAMESPACE;

using P = nm::Simd;
using F = P::F;
inline constexpr std::int64_t kLanes = static_cast<std::int64_t>(P::kLanes);

// Calls full(i) for each whole vector of [0, n) and then part(i, count) for what is left, if anything.
template <class Full, class Part>
HWY_INLINE void ForVectors(std::int64_t n, const Full& full, const Part& part) {
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) full(i);
  if (i < n) part(i, static_cast<std::size_t>(n - i));
}

// y[i] = function(x[i]), NaNs canonical.
template <class Function>
HWY_INLINE void MapUnary(const float* x, float* y, std::int64_t n, const Function& function) {
  ForVectors(
      n, [&](std::int64_t i) HWY_ATTR { P::Store(P::Canonical(function(P::Load(x + i))), y + i); },
      [&](std::int64_t i, std::size_t count)
          HWY_ATTR { P::StoreSome(P::Canonical(function(P::LoadSome(x + i, count))), y + i, count); });
}

// y[i] = function(a[i], b[i]), NaNs canonical.
template <class Function>
HWY_INLINE void MapBinary(const float* a, const float* b, float* y, std::int64_t n, const Function& function) {
  ForVectors(
      n, [&](std::int64_t i) HWY_ATTR { P::Store(P::Canonical(function(P::Load(a + i), P::Load(b + i))), y + i); },
      [&](std::int64_t i, std::size_t count) HWY_ATTR {
        P::StoreSome(P::Canonical(function(P::LoadSome(a + i, count), P::LoadSome(b + i, count))), y + i, count);
      });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_BACKEND_CPU_ELEMENTWISE_INL_H_
