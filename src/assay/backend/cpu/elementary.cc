// Kernels of the elementary functions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/elementary.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/elementwise-inl.h"
#include "assay/backend/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void Elements_exp(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Exp<P>>(args, begin, end); }
void Elements_log(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Log<P>>(args, begin, end); }
void Elements_sqrt(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<P::Sqrt>(args, begin, end); }
void Elements_rsqrt(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Rsqrt<P>>(args, begin, end); }
void Elements_tanh(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Tanh<P>>(args, begin, end); }
void Elements_erf(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Erf<P>>(args, begin, end); }
void Elements_sin(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Sin<P>>(args, begin, end); }
void Elements_cos(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Cos<P>>(args, begin, end); }

void Elements_pow(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  const float exponent = args.attrs().Float(0);
  MapUnary(args.In<float>(0), args.Out<float>(0), end - begin, [&](F x) HWY_ATTR { return nm::Pow<P>(x, exponent); });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
