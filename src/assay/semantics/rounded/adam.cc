// The three outputs of adam and adamw at once, with rough bounds. The operations are those of Formula_adam and Formula_adamw and give the same bits; here they are done by vectors.
#include "assay/semantics/rounded/adam.h"

#include <cmath>
#include <limits>

#include "assay/ops/table.h"
#include "assay/semantics/rounded/rough.h"

namespace assay::rounded {
namespace {

using numerics::kUnit;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

enum class Decay { kNone, kCoupled, kDecoupled };

struct Arrays {
  const float *p, *grad, *m, *v;
  double *p_after, *m_after, *v_after;
  double *p_error, *m_error, *v_error;
};

double Relative(const Near& x) { return x.magnitude() > 0 ? x.e / x.magnitude() : kInfinite; }

// What lr1 and root2 do to the parameter's step.
double ErrorOfScalars(const KernelArgs& args, bool decoupled) {
  const AdamScalars<Near> s = AdamScalarsOf<Near>(args, decoupled);
  return 2 * (Relative(s.root2) + Relative(s.lr1)) + 32 * kUnit;
}

// Moments. With g = grad · factor (plus weight_decay · p where that couples, two roundings more), m' = beta1 m + (1 - beta1) g has five roundings on terms of at most |m| and |g|, and
// v' = beta2 v + (1 - beta2) g g six on terms of at most |v| and g². Sixteen units of the terms are more than all of them with their second order.
// The parameter is p · shrink - d with d = lr1 · m' / (sqrt(v') / root2 + eps). v' is relatively off by at most 16 units (its terms have one sign; else the root is none), so the
// denominator by 16 units and the error of root2; m' by 16 (|m| + |g|) units, hence d by |d| · (the errors of lr1 and root2, 32 units, and 16 (|m| + |g|) / |m'| units). |d| is
// at most |p · shrink - p'| and a few units of |p| and |p'|; shrink is off by three units.
template <Decay decay, bool rough>
[[gnu::always_inline]] inline void Loop(const AdamScalars<double>& s, double of_scalars, std::int64_t n,
                                        const float* __restrict p, const float* __restrict grad, const float* __restrict m,
                                        const float* __restrict v, double* __restrict p_after, double* __restrict m_after,
                                        double* __restrict v_after, double* __restrict p_error, double* __restrict m_error,
                                        double* __restrict v_error) {
  const double factor = s.factor, weight_decay = s.weight_decay, shrink = s.shrink, beta1 = s.beta1, beta2 = s.beta2;
  const double rest1 = s.rest1, rest2 = s.rest2, root2 = s.root2, eps = s.eps, lr1 = s.lr1;
  constexpr double u16 = 16 * kUnit;
  for (std::int64_t i = 0; i < n; ++i) {
    const double before = p[i], m0 = m[i], v0 = v[i], scaled = grad[i] * factor;
    const double g = decay == Decay::kCoupled ? weight_decay * before + scaled : scaled;
    const double m1 = beta1 * m0 + rest1 * g;
    const double v1 = beta2 * v0 + rest2 * g * g;
    const double kept = decay == Decay::kDecoupled ? before * shrink : before;
    const double after = kept - lr1 * (m1 / (std::sqrt(v1) / root2 + eps));
    p_after[i] = after;
    m_after[i] = m1;
    v_after[i] = v1;
    if (!rough) continue;
    const double terms_of_g = decay == Decay::kCoupled ? std::fabs(scaled) + std::fabs(weight_decay * before) : std::fabs(g);
    m_error[i] = u16 * (std::fabs(m0) + terms_of_g);
    v_error[i] = u16 * (std::fabs(v0) + terms_of_g * terms_of_g);
    const double terms = std::fabs(m0) + std::fabs(g), around = 8 * kUnit * (std::fabs(before) + std::fabs(after));
    const double d = std::fabs(kept - after) + around;
    // Where m' all but cancels nothing is said; where it and its terms are zero, so is d.
    const double of_terms = 2 * u16 * terms / std::fabs(m1);
    const double lost = terms > 0 ? of_terms : 0.0;
    const double error = around + d * (of_scalars + lost);
    p_error[i] = lost < 0x1p-20 ? error : kInfinite;
  }
}

template <bool rough>
[[gnu::always_inline]] inline void LoopOf(const AdamScalars<double>& s, double of_scalars, const Arrays& arrays,
                                          std::int64_t n) {
  const auto run = [&]<Decay decay>() __attribute__((always_inline)) {
    Loop<decay, rough>(s, of_scalars, n, arrays.p, arrays.grad, arrays.m, arrays.v, arrays.p_after, arrays.m_after,
                       arrays.v_after, arrays.p_error, arrays.m_error, arrays.v_error);
  };
  if (s.couples) return run.template operator()<Decay::kCoupled>();
  if (s.shrinks) return run.template operator()<Decay::kDecoupled>();
  run.template operator()<Decay::kNone>();
}

[[gnu::always_inline]] inline void Dispatch(const AdamScalars<double>& s, double of_scalars, const Arrays& arrays,
                                            std::int64_t n) {
  arrays.p_error != nullptr ? LoopOf<true>(s, of_scalars, arrays, n) : LoopOf<false>(s, of_scalars, arrays, n);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void RunAvx2(const AdamScalars<double>& s, double of_scalars, const Arrays& arrays, std::int64_t n) {
  Dispatch(s, of_scalars, arrays, n);
}
#endif

void Adam(const KernelArgs& args, Range range, std::span<double* const> y, std::span<double* const> e, bool decoupled) {
  const AdamScalars<double> s = AdamScalarsOf<double>(args, decoupled);
  const bool rough = !e.empty();
  const double of_scalars = rough ? ErrorOfScalars(args, decoupled) : 0.0;
  const Arrays arrays{.p = args.In<float>(0) + range.begin,
                      .grad = args.In<float>(1) + range.begin,
                      .m = args.In<float>(2) + range.begin,
                      .v = args.In<float>(3) + range.begin,
                      .p_after = y[0],
                      .m_after = y[1],
                      .v_after = y[2],
                      .p_error = rough ? e[0] : nullptr,
                      .m_error = rough ? e[1] : nullptr,
                      .v_error = rough ? e[2] : nullptr};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) return RunAvx2(s, of_scalars, arrays, range.size());
#endif
  Dispatch(s, of_scalars, arrays, range.size());
}

void Together_adam(const KernelArgs& args, Range range, std::span<double* const> y, std::span<double* const> e) {
  Adam(args, range, y, e, false);
}
void Together_adamw(const KernelArgs& args, Range range, std::span<double* const> y, std::span<double* const> e) {
  Adam(args, range, y, e, true);
}

}  // namespace

Together TogetherOf(OpIndex op) {
  switch (op) {
    case op::adam: return Together_adam;
    case op::adamw: return Together_adamw;
    default: return nullptr;
  }
}

}  // namespace assay::rounded
