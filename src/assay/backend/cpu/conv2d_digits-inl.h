// conv2d and its gradients with digits (docs/NUMERICS.md, section 7), of one instruction set.
#if defined(ASSAY_BACKEND_CPU_CONV2D_DIGITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_CONV2D_DIGITS_INL_H_
#undef ASSAY_BACKEND_CPU_CONV2D_DIGITS_INL_H_
#else
#define ASSAY_BACKEND_CPU_CONV2D_DIGITS_INL_H_
#endif

#include "assay/backend/cpu/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void Conv2dByDigits(const KernelArgs& args, Context& context);
void Conv2dGradXByDigits(const KernelArgs& args, Context& context);
void Conv2dGradWByDigits(const KernelArgs& args, Context& context);

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
