// The definition of the activations and their gradients: the scalar instances of assay/numerics/activations.h.
#include "assay/numerics/activations.h"

#include "assay/semantics/ref/elementwise.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {

using numerics::Scalar;

void Ref_relu(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Relu<Scalar>); }
void Ref_gelu_tanh(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::GeluTanh<Scalar>); }
void Ref_gelu_erf(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::GeluErf<Scalar>); }
void Ref_sigmoid(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Sigmoid<Scalar>); }
void Ref_silu(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Silu<Scalar>); }

void Ref_relu_grad(const KernelArgs& args, int, Range range) { Binary(args, range, numerics::ReluGrad<Scalar>); }
void Ref_gelu_tanh_grad(const KernelArgs& args, int, Range range) { Binary(args, range, numerics::GeluTanhGrad<Scalar>); }
void Ref_gelu_erf_grad(const KernelArgs& args, int, Range range) { Binary(args, range, numerics::GeluErfGrad<Scalar>); }
void Ref_silu_grad(const KernelArgs& args, int, Range range) { Binary(args, range, numerics::SiluGrad<Scalar>); }

}  // namespace assay::ref
