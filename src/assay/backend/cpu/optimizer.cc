// Kernels of the optimizers: one pass over the parameter and its moments; what is the same for all elements is computed once a call.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/optimizer.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/elementwise-inl.h"
#include "assay/backend/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void Elements_sgd(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  const Attrs& a = args.attrs();
  const numerics::SgdScalars scalars = numerics::MakeSgdScalars<numerics::Scalar>(
      a.Float(0), a.Float(1), a.Float(2), a.Int(3) != 0, *args.In<float>(3), *args.In<float>(4));
  const float* p_in = args.In<float>(0);
  const float* g_in = args.In<float>(1);
  const float* m_in = args.In<float>(2);
  float* p_out = args.Out<float>(0);
  float* m_out = args.Out<float>(1);
  ForVectors(
      end - begin,
      [&](std::int64_t i) HWY_ATTR {
        F p = P::Load(p_in + i), m = P::Load(m_in + i);
        nm::SgdUpdate<P>(scalars, P::Load(g_in + i), p, m);
        P::Store(P::Canonical(p), p_out + i);
        P::Store(P::Canonical(m), m_out + i);
      },
      [&](std::int64_t i, std::size_t count) HWY_ATTR {
        F p = P::LoadSome(p_in + i, count), m = P::LoadSome(m_in + i, count);
        nm::SgdUpdate<P>(scalars, P::LoadSome(g_in + i, count), p, m);
        P::StoreSome(P::Canonical(p), p_out + i, count);
        P::StoreSome(P::Canonical(m), m_out + i, count);
      });
}

HWY_INLINE void Adam(const KernelArgs& args, std::int64_t begin, std::int64_t end, bool decoupled) {
  const Attrs& a = args.attrs();
  const numerics::AdamScalars scalars =
      numerics::MakeAdamScalars<numerics::Scalar>(a.Float(0), a.Float(1), a.Float(2), a.Float(3), decoupled, *args.In<float>(4),
                                                  *args.In<float>(5), *args.In<std::int64_t>(6));
  const float* p_in = args.In<float>(0);
  const float* g_in = args.In<float>(1);
  const float* m_in = args.In<float>(2);
  const float* v_in = args.In<float>(3);
  float* p_out = args.Out<float>(0);
  float* m_out = args.Out<float>(1);
  float* v_out = args.Out<float>(2);
  ForVectors(
      end - begin,
      [&](std::int64_t i) HWY_ATTR {
        F p = P::Load(p_in + i), m = P::Load(m_in + i), v = P::Load(v_in + i);
        nm::AdamUpdate<P>(scalars, P::Load(g_in + i), p, m, v);
        P::Store(P::Canonical(p), p_out + i);
        P::Store(P::Canonical(m), m_out + i);
        P::Store(P::Canonical(v), v_out + i);
      },
      [&](std::int64_t i, std::size_t count) HWY_ATTR {
        F p = P::LoadSome(p_in + i, count), m = P::LoadSome(m_in + i, count), v = P::LoadSome(v_in + i, count);
        nm::AdamUpdate<P>(scalars, P::LoadSome(g_in + i, count), p, m, v);
        P::StoreSome(P::Canonical(p), p_out + i, count);
        P::StoreSome(P::Canonical(m), m_out + i, count);
        P::StoreSome(P::Canonical(v), v_out + i, count);
      });
}

void Elements_adam(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Adam(args, begin, end, false); }
void Elements_adamw(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Adam(args, begin, end, true); }

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
