// Arithmetic and the elementary functions.
#include "assay/backend/cublas/elements-inl.h"

namespace assay::cublas {

ASSAY_ELEMENTS(add, 2, Bounds::kNone, T(x[0]) + T(x[1]));
ASSAY_ELEMENTS(sub, 2, Bounds::kNone, T(x[0]) - T(x[1]));
ASSAY_ELEMENTS(mul, 2, Bounds::kNone, T(x[0]) * T(x[1]));
ASSAY_ELEMENTS(div, 2, Bounds::kNone, T(x[0]) / T(x[1]));
ASSAY_ELEMENTS(sqrt, 1, Bounds::kNone, numerics::Sqrt(T(x[0])));
ASSAY_ELEMENTS(exp, 1, Bounds::kNear, numerics::Exp(T(x[0])));
ASSAY_ELEMENTS(log, 1, Bounds::kNear, numerics::Log(T(x[0])));
ASSAY_ELEMENTS(rsqrt, 1, Bounds::kNear, numerics::Rsqrt(T(x[0])));
ASSAY_ELEMENTS(tanh, 1, Bounds::kNear, numerics::Tanh(T(x[0])));
ASSAY_ELEMENTS(erf, 1, Bounds::kNear, numerics::Erf(T(x[0])));
ASSAY_ELEMENTS(sin, 1, Bounds::kNear, numerics::Sin(T(x[0])));
ASSAY_ELEMENTS(cos, 1, Bounds::kNear, numerics::Cos(T(x[0])));

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
