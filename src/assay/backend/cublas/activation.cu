// The activations and their gradients.
#include "assay/semantics/rounded/activations.h"
#include "assay/semantics/rounded/rough_elements.h"
#include "assay/backend/cublas/elements-inl.h"

namespace assay::cublas {

ASSAY_ELEMENTS(gelu_erf, 1, Bounds::kNear, rounded::GeluErf<T>(x[0]));
ASSAY_ELEMENTS(gelu_erf_grad, 2, Bounds::kNear, rounded::GeluErfGrad<T>(x[0], x[1]));
ASSAY_ELEMENTS(sigmoid, 1, Bounds::kNear, rounded::Sigmoid<T>(x[0]));
ASSAY_ELEMENTS(silu, 1, Bounds::kNear, rounded::Silu<T>(x[0]));
ASSAY_ELEMENTS(silu_grad, 2, Bounds::kNear, rounded::SiluGrad<T>(x[0], x[1]));

namespace {

struct GeluTanh {
  static constexpr int kInputs = 1;
  static constexpr Bounds kBounds = Bounds::kRough;
  template <class T>
  __device__ T Value(const float* x) const {
    return rounded::GeluTanh<T>(x[0]);
  }
  __device__ double Rough(const float* x, double y) const { return rounded::RoughGeluTanh(x[0], y); }
};

struct GeluTanhGrad {
  static constexpr int kInputs = 2;
  static constexpr Bounds kBounds = Bounds::kRough;
  template <class T>
  __device__ T Value(const float* x) const {
    return rounded::GeluTanhGrad<T>(x[0], x[1]);
  }
  __device__ double Rough(const float* x, double) const { return rounded::RoughGeluTanhGrad(x[0], x[1]); }
};

}  // namespace

void Run_gelu_tanh(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunElements(args, sinks[0], context, GeluTanh{});
}

void Run_gelu_tanh_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunElements(args, sinks[0], context, GeluTanhGrad{});
}

}  // namespace assay::cublas
