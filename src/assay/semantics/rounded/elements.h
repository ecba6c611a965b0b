// The activations and their gradients, an element at a time, for the host and for devices: what lines of assay/ops/plain_ops.inc call.
//
// Where the contract's formula cancels (1 + tanh(u) for u far below 0), an equal one that does not is evaluated: (1 + tanh(u)) / 2 is the logistic function of 2u,
// and 1 - tanh(u)^2 is four times its product with that of -2u (docs/ROUNDING.md, section 2). T is one of the number types of formula.h. Pure.
#pragma once

#include "assay/numerics/bounded.h"

namespace assay::rounded {

// 1 / (1 + exp(-z)) and 1 / (1 + exp(z)). `sign` has the sign of z.
template <class T>
class Logistic {
 public:
  ASSAY_HD Logistic(const T& z, float sign)
      : negative_(sign < 0.0f), e_(numerics::Exp(negative_ ? z : -z)), sum_(T(1.0f) + e_) {}
  ASSAY_HD T of() const { return (negative_ ? e_ : T(1.0f)) / sum_; }
  ASSAY_HD T of_negative() const { return (negative_ ? T(1.0f) : e_) / sum_; }

 private:
  bool negative_;
  T e_, sum_;
};

// Twice what gelu_tanh takes the hyperbolic tangent of.
template <class T>
ASSAY_HD T TwiceInner(float x) {
  return T(2.0f) * (T(0.7978845608f) * (T(x) + T(0.044715f) * (T(x) * T(x) * T(x))));
}

template <class T>
ASSAY_HD T GeluTanh(float x) {
  return T(x) * Logistic<T>(TwiceInner<T>(x), x).of();
}

template <class T>
ASSAY_HD T GeluTanhGrad(float x, float dy) {
  const Logistic<T> s(TwiceInner<T>(x), x);
  const T of = s.of();
  const T d = T(0.7978845608f) * (T(1.0f) + T(0.134145f) * (T(x) * T(x)));
  return T(dy) * (of + T(2.0f) * T(x) * (of * s.of_negative() * d));
}

template <class T>
ASSAY_HD T GeluErf(float x) {
  return T(0.5f) * T(x) * (T(1.0f) + numerics::Erf(T(x) * T(0.7071067812f)));
}

template <class T>
ASSAY_HD T GeluErfGrad(float x, float dy) {
  const T e = numerics::Erf(T(x) * T(0.7071067812f));
  const T q = T(0.3989422804f) * numerics::Exp(T(-0.5f) * T(x) * T(x));
  return T(dy) * (T(x) * q + T(0.5f) * (T(1.0f) + e));
}

template <class T>
ASSAY_HD T Sigmoid(float x) {
  return Logistic<T>(T(x), x).of();
}

template <class T>
ASSAY_HD T Silu(float x) {
  return T(x) * Logistic<T>(T(x), x).of();
}

template <class T>
ASSAY_HD T SiluGrad(float x, float dy) {
  const Logistic<T> s(T(x), x);
  return T(dy) * (s.of() * (T(1.0f) + T(x) * s.of_negative()));
}

}  // namespace assay::rounded
