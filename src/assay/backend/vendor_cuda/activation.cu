// The activations and their gradients.
#include "assay/backend/vendor/activations.h"
#include "assay/backend/vendor/rough_elements.h"
#include "assay/backend/vendor_cuda/elements-inl.h"

namespace assay::vendor_cuda {

ASSAY_ELEMENTS(gelu_erf, 1, Bounds::kNear, vendor::GeluErf<T>(x[0]));
ASSAY_ELEMENTS(gelu_erf_grad, 2, Bounds::kNear, vendor::GeluErfGrad<T>(x[0], x[1]));
ASSAY_ELEMENTS(sigmoid, 1, Bounds::kNear, vendor::Sigmoid<T>(x[0]));
ASSAY_ELEMENTS(silu, 1, Bounds::kNear, vendor::Silu<T>(x[0]));
ASSAY_ELEMENTS(silu_grad, 2, Bounds::kNear, vendor::SiluGrad<T>(x[0], x[1]));

namespace {

struct GeluTanh {
  static constexpr int kInputs = 1;
  static constexpr Bounds kBounds = Bounds::kRough;
  template <class T>
  __device__ T Value(const float* x) const {
    return vendor::GeluTanh<T>(x[0]);
  }
  __device__ double Rough(const float* x, double y) const { return vendor::RoughGeluTanh(x[0], y); }
};

struct GeluTanhGrad {
  static constexpr int kInputs = 2;
  static constexpr Bounds kBounds = Bounds::kRough;
  template <class T>
  __device__ T Value(const float* x) const {
    return vendor::GeluTanhGrad<T>(x[0], x[1]);
  }
  __device__ double Rough(const float* x, double) const { return vendor::RoughGeluTanhGrad(x[0], x[1]); }
};

}  // namespace

void Run_gelu_tanh(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunElements(args, sinks[0], context, GeluTanh{});
}

void Run_gelu_tanh_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunElements(args, sinks[0], context, GeluTanhGrad{});
}

}  // namespace assay::vendor_cuda
