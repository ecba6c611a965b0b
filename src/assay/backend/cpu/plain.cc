// Kernels of the plain ops (assay/ops/plain_ops.inc), and of pow.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/plain.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/elementwise-inl.h"
#include "assay/backend/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

using namespace nm;  // where the table finds its functions

#define ASSAY_UNARY_OP(name, bits, formula)                                                          \
  void Elements_##name(const KernelArgs& args, std::int64_t begin, std::int64_t end) {               \
    MapUnary(args.In<float>(0), args.Out<float>(0), end - begin, [](F x) HWY_ATTR { return bits; }); \
  }
#define ASSAY_BINARY_OP(name, bits, formula)                                                                                  \
  void Elements_##name(const KernelArgs& args, std::int64_t begin, std::int64_t end) {                                        \
    MapBinary(args.In<float>(0), args.In<float>(1), args.Out<float>(0), end - begin, [](F x, F y) HWY_ATTR { return bits; }); \
  }
#include "assay/ops/plain_ops.inc"
#undef ASSAY_UNARY_OP
#undef ASSAY_BINARY_OP

void Elements_pow(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  const float exponent = args.attrs().Float(0);
  MapUnary(args.In<float>(0), args.Out<float>(0), end - begin, [&](F x) HWY_ATTR { return Pow<P>(x, exponent); });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
