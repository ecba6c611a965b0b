// Kernels of the activations and their gradients.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/activation.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/elementwise-inl.h"
#include "assay/backend/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

void Elements_relu(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Relu<P>>(args, begin, end); }
void Elements_gelu_tanh(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  Unary<nm::GeluTanh<P>>(args, begin, end);
}
void Elements_gelu_erf(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  Unary<nm::GeluErf<P>>(args, begin, end);
}
void Elements_sigmoid(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Sigmoid<P>>(args, begin, end); }
void Elements_silu(const KernelArgs& args, std::int64_t begin, std::int64_t end) { Unary<nm::Silu<P>>(args, begin, end); }

void Elements_relu_grad(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  Binary<nm::ReluGrad<P>>(args, begin, end);
}

void Elements_gelu_tanh_grad(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  Binary<nm::GeluTanhGrad<P>>(args, begin, end);
}

void Elements_gelu_erf_grad(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  Binary<nm::GeluErfGrad<P>>(args, begin, end);
}

void Elements_silu_grad(const KernelArgs& args, std::int64_t begin, std::int64_t end) {
  Binary<nm::SiluGrad<P>>(args, begin, end);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
