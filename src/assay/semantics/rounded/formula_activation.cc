// The activations and their gradients.
#include "assay/semantics/rounded/activations.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {
template <class T>
void Formula_relu(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, [](float x) { return T(x <= 0.0f ? 0.0f : x); });
}

template <class T>
void Formula_relu_grad(const KernelArgs& args, int, Range range, T* out) {
  Binary(args, range, out, [](float y, float dy) { return T(y > 0.0f ? dy : 0.0f); });
}

template <class T>
void Formula_gelu_tanh(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, GeluTanh<T>);
}

template <class T>
void Formula_gelu_tanh_grad(const KernelArgs& args, int, Range range, T* out) {
  Binary(args, range, out, GeluTanhGrad<T>);
}

template <class T>
void Formula_gelu_erf(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, GeluErf<T>);
}

template <class T>
void Formula_gelu_erf_grad(const KernelArgs& args, int, Range range, T* out) {
  Binary(args, range, out, GeluErfGrad<T>);
}

template <class T>
void Formula_sigmoid(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, Sigmoid<T>);
}

template <class T>
void Formula_silu(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, Silu<T>);
}

template <class T>
void Formula_silu_grad(const KernelArgs& args, int, Range range, T* out) {
  Binary(args, range, out, SiluGrad<T>);
}

ASSAY_FORMULA(relu);
ASSAY_FORMULA(relu_grad);
ASSAY_FORMULA(gelu_tanh);
ASSAY_FORMULA(gelu_tanh_grad);
ASSAY_FORMULA(gelu_erf);
ASSAY_FORMULA(gelu_erf_grad);
ASSAY_FORMULA(sigmoid);
ASSAY_FORMULA(silu);
ASSAY_FORMULA(silu_grad);

}  // namespace assay::rounded
