// sgd, adam and adamw. Each output is computed on its own, from the inputs; the parameter's from moments that are not rounded.
#include "assay/backend/vendor/adam.h"
#include "assay/backend/vendor/formula_loops.h"

namespace assay::vendor {
namespace {

template <class T>
struct SgdScalars {
  T factor, weight_decay, momentum, damped, lr;
  bool decays, remembers, nesterov;
};

// The parameter (output 0) or the momentum (output 1) after the step.
template <class T>
T SgdElement(const SgdScalars<T>& s, int output, const T& p, const T& grad, const T& moment) {
  T g = grad * s.factor;
  if (s.decays) g = s.weight_decay * p + g;
  T m = moment, u = g;
  if (s.remembers) {
    m = s.momentum * m + s.damped * g;
    u = s.nesterov ? s.momentum * m + g : m;
  }
  return output == 0 ? p - s.lr * u : m;
}

// The parameter, the first or the second moment after the step.
template <class T>
T AdamElement(const AdamScalars<T>& s, int output, const T& before, const T& grad, const T& m0, const T& v0) {
  T g = grad * s.factor, p = before;
  if (s.couples) g = s.weight_decay * p + g;
  const T m = s.beta1 * m0 + s.rest1 * g;
  if (output == 1) return m;
  const T v = s.beta2 * v0 + s.rest2 * g * g;
  if (output == 2) return v;
  if (s.shrinks) p = p * s.shrink;
  return p - s.lr1 * (m / (Sqrt(v) / s.root2 + s.eps));
}

template <class T>
void Adam(const KernelArgs& args, int output, Range range, T* out, bool decoupled) {
  const AdamScalars<T> s = AdamScalarsOf<T>(args, decoupled);
  const float *p = args.In<float>(0), *grad = args.In<float>(1), *m = args.In<float>(2), *v = args.In<float>(3);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    out[i - range.begin] = AdamElement(s, output, T(p[i]), T(grad[i]), T(m[i]), T(v[i]));
  }
}

}  // namespace

template <class T>
void Formula_sgd(const KernelArgs& args, int output, Range range, T* out) {
  const Attrs& a = args.attrs();
  const SgdScalars<T> s = {.factor = T(*args.In<float>(4)),
                           .weight_decay = T(a.Float(2)),
                           .momentum = T(a.Float(0)),
                           .damped = T(1.0f) - T(a.Float(1)),
                           .lr = T(*args.In<float>(3)),
                           .decays = a.Float(2) != 0.0f,
                           .remembers = a.Float(0) != 0.0f,
                           .nesterov = a.Int(3) != 0};
  const float *p = args.In<float>(0), *grad = args.In<float>(1), *m = args.In<float>(2);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    out[i - range.begin] = SgdElement(s, output, T(p[i]), T(grad[i]), T(m[i]));
  }
}

template <class T>
void Formula_adam(const KernelArgs& args, int output, Range range, T* out) {
  Adam(args, output, range, out, false);
}

template <class T>
void Formula_adamw(const KernelArgs& args, int output, Range range, T* out) {
  Adam(args, output, range, out, true);
}

ASSAY_FORMULA(sgd);
ASSAY_FORMULA(adam);
ASSAY_FORMULA(adamw);

}  // namespace assay::vendor
