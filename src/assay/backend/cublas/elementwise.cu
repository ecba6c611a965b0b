// Elementwise ops with an attribute.
#include "assay/backend/cublas/elements-inl.h"

namespace assay::cublas {
namespace {

struct Scale {
  static constexpr int kInputs = 1;
  static constexpr Bounds kBounds = Bounds::kNone;
  float factor;
  template <class T>
  __device__ T Value(const float* x) const {
    return T(x[0]) * T(factor);
  }
};

struct AddScalar {
  static constexpr int kInputs = 1;
  static constexpr Bounds kBounds = Bounds::kNone;
  float term;
  template <class T>
  __device__ T Value(const float* x) const {
    return T(x[0]) + T(term);
  }
};

struct Power {
  static constexpr int kInputs = 1;
  static constexpr Bounds kBounds = Bounds::kNear;
  float exponent;
  template <class T>
  __device__ T Value(const float* x) const {
    return numerics::Pow(T(x[0]), T(exponent));
  }
};

}  // namespace

void Run_scale(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunElements(args, sinks[0], context, Scale{args.attrs().Float(0)});
}

void Run_add_scalar(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunElements(args, sinks[0], context, AddScalar{args.attrs().Float(0)});
}

void Run_pow(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunElements(args, sinks[0], context, Power{args.attrs().Float(0)});
}

}  // namespace assay::cublas
