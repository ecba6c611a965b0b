// The contraction engine with digits of one instruction set; see digit_gemm.h.
#if defined(ASSAY_BACKEND_CPU_DIGIT_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_DIGIT_GEMM_INL_H_
#undef ASSAY_BACKEND_CPU_DIGIT_GEMM_INL_H_
#else
#define ASSAY_BACKEND_CPU_DIGIT_GEMM_INL_H_
#endif

#include "assay/backend/cpu/digit_gemm.h"
#include "assay/backend/cpu/kernels.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// On the context's unit. May be called from the thread that owns the context, or with `worker` from inside a ParallelFor.
void GemmDigits(const DigitContraction& task, Context& context, int worker = Context::kShared);

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
