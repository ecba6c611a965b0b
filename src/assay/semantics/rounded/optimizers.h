// sgd, adam and adamw, an element at a time, for the host and for devices. The parameter is computed from moments that are not rounded. T is one of the number types of formula.h. Pure.
#pragma once

#include <cstdint>

#include "assay/numerics/bounded.h"

namespace assay::rounded {

template <class T>
struct SgdScalars {
  T factor, weight_decay, momentum, damped, lr;
  bool decays, remembers, nesterov;
};

template <class T>
ASSAY_HD SgdScalars<T> SgdScalarsOf(float momentum, float dampening, float weight_decay, bool nesterov, float lr,
                                    float factor) {
  return {.factor = T(factor),
          .weight_decay = T(weight_decay),
          .momentum = T(momentum),
          .damped = T(1.0f) - T(dampening),
          .lr = T(lr),
          .decays = weight_decay != 0.0f,
          .remembers = momentum != 0.0f,
          .nesterov = nesterov};
}

// The parameter (output 0) or the momentum (output 1) after the step.
template <class T>
ASSAY_HD T SgdElement(const SgdScalars<T>& s, int output, const T& p, const T& grad, const T& moment) {
  T g = grad * s.factor;
  if (s.decays) g = s.weight_decay * p + g;
  T m = moment, u = g;
  if (s.remembers) {
    m = s.momentum * m + s.damped * g;
    u = s.nesterov ? s.momentum * m + g : m;
  }
  return output == 0 ? p - s.lr * u : m;
}

template <class T>
struct AdamScalars {
  T factor, weight_decay, shrink, beta1, beta2, rest1, rest2, root2, eps, lr1;
  bool couples, shrinks;
};

struct AdamAttributes {
  float beta1, beta2, eps, weight_decay;
  bool decoupled;
};

template <class T>
ASSAY_HD AdamScalars<T> AdamScalarsOf(const AdamAttributes& a, float rate, float factor, std::int64_t steps) {
  const T one(1.0f), beta1(a.beta1), beta2(a.beta2), weight_decay(a.weight_decay), lr(rate);
  const T step(static_cast<float>(steps));
  const bool decays = a.weight_decay != 0.0f;
  return {.factor = T(factor),
          .weight_decay = weight_decay,
          .shrink = one - lr * weight_decay,
          .beta1 = beta1,
          .beta2 = beta2,
          .rest1 = one - beta1,
          .rest2 = one - beta2,
          .root2 = numerics::Sqrt(one - numerics::Pow(beta2, step)),
          .eps = T(a.eps),
          .lr1 = lr / (one - numerics::Pow(beta1, step)),
          .couples = decays && !a.decoupled,
          .shrinks = decays && a.decoupled};
}

// The gradient that the moments are made of.
template <class T>
ASSAY_HD T AdamGradient(const AdamScalars<T>& s, const T& p, const T& grad) {
  const T g = grad * s.factor;
  return s.couples ? s.weight_decay * p + g : g;
}
template <class T>
ASSAY_HD T AdamFirstMoment(const AdamScalars<T>& s, const T& before, const T& g) {
  return s.beta1 * before + s.rest1 * g;
}
template <class T>
ASSAY_HD T AdamSecondMoment(const AdamScalars<T>& s, const T& before, const T& g) {
  return s.beta2 * before + s.rest2 * g * g;
}
template <class T>
ASSAY_HD T AdamDenominator(const AdamScalars<T>& s, const T& v) {
  return numerics::Sqrt(v) / s.root2 + s.eps;
}
// What is subtracted from the parameter.
template <class T>
ASSAY_HD T AdamMove(const AdamScalars<T>& s, const T& m, const T& denominator) {
  return s.lr1 * (m / denominator);
}
template <class T>
ASSAY_HD T AdamParameter(const AdamScalars<T>& s, const T& before, const T& move) {
  return (s.shrinks ? before * s.shrink : before) - move;
}

// The parameter, the first or the second moment after the step.
template <class T>
ASSAY_HD T AdamElement(const AdamScalars<T>& s, int output, const T& p, const T& grad, const T& m0, const T& v0) {
  const T g = AdamGradient(s, p, grad);
  if (output == 2) return AdamSecondMoment(s, v0, g);
  const T m = AdamFirstMoment(s, m0, g);
  if (output == 1) return m;
  return AdamParameter(s, p, AdamMove(s, m, AdamDenominator(s, AdamSecondMoment(s, v0, g))));
}

}  // namespace assay::rounded
