// The running softmax of a tile of queries, and what becomes of it: with digits and without. See attention-inl.h.
#if defined(ASSAY_BACKEND_CPU_ATTENTION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_ATTENTION_SOFTMAX_INL_H_
#undef ASSAY_BACKEND_CPU_ATTENTION_SOFTMAX_INL_H_
#else
#define ASSAY_BACKEND_CPU_ATTENTION_SOFTMAX_INL_H_
#endif

#include <limits>

#include "assay/backend/cpu/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::attention {

struct Inputs {
  ops::AttentionGeometry g;
  const float* q;
  const float* k;
  const float* v;
  float* o;
  float* lse;
};

// The running softmax of a tile; one lane per query. In memory, because a struct of vectors has constructors that are compiled for no target.
struct Running {
  HWY_ALIGN float m[kTile];
  HWY_ALIGN float l[kTile];
  HWY_ALIGN float alpha[kTile];
};

// Turns the scores of a block into probabilities and moves the running maximum and sum on. Which of several NaNs or zeros the maximum
// takes cannot be seen: a NaN score makes the whole row NaN, and zeros of either sign give the same differences.
inline void Softmax(const Visibility& visibility, std::int64_t first, float* p, Running& running) {
  const std::int64_t common = visibility.Common(first), any = visibility.Any(first);
  for (int u = 0; u < 2; ++u) {
    float* column = p + u * kLanes;
    const F m = Simd::Load(running.m + u * kLanes);
    F n = m;
    for (std::int64_t j = 0; j < common; ++j) n = hn::Max(n, Simd::Load(column + j * kTile));
    for (std::int64_t j = common; j < any; ++j) {
      n = Simd::Select(visibility.Sees(first + j, u), hn::Max(n, Simd::Load(column + j * kTile)), n);
    }
    Simd::Store(nm::Exp<Simd>(Simd::Sub(m, n)), running.alpha + u * kLanes);
    Simd::Store(n, running.m + u * kLanes);
  }
  const F m[2] = {Simd::Load(running.m), Simd::Load(running.m + kLanes)};
  for (std::int64_t j = 0; j < any; ++j) {
    for (int u = 0; u < 2; ++u) {
      float* at = p + j * kTile + u * kLanes;
      F value = nm::Exp<Simd>(Simd::Sub(Simd::Load(at), m[u]));
      if (j >= common) value = hn::IfThenElseZero(visibility.Sees(first + j, u), value);
      Simd::Store(value, at);
    }
  }
  std::memset(p + any * kTile, 0, static_cast<std::size_t>((kKeyBlock - any) * kTile) * sizeof(float));
  for (std::int64_t u = 0; u < kTile; u += kLanes) {
    Simd::Store(Simd::Fma(Simd::Load(running.l + u), Simd::Load(running.alpha + u), BlockSum<1>(p + u)), running.l + u);
  }
}

inline void Finish(const Inputs& in, std::int64_t b, std::int64_t h, std::int64_t query, std::int64_t count,
                   const Running& running, float* o_lanes) {
  const ops::AttentionGeometry& g = in.g;
  for (std::int64_t u = 0; u < kTile; u += kLanes) {
    const F l = Simd::Load(running.l + u);
    for (std::int64_t d = 0; d < g.d; ++d) {
      float* at = o_lanes + d * kTile + u;
      Simd::Store(Simd::Canonical(Simd::Div(Simd::Load(at), l)), at);
    }
    const std::int64_t left = std::clamp<std::int64_t>(count - u, 0, kLanes);
    const F lse = Simd::Canonical(Simd::Add(Simd::Load(running.m + u), nm::Log<Simd>(l)));
    if (left > 0) Simd::StoreSome(lse, in.lse + g.Lse(b, h, query) + u, static_cast<std::size_t>(left));
  }
  Transpose(o_lanes, kTile, g.d, count, in.o + g.QueryRow(b, query, h), g.hq * g.d);
}

}  // namespace assay::cpu::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif
