// The activations and their gradients.
//
// Where the contract's formula cancels (1 + tanh(u) for u far below 0), an equal one that does not is evaluated: (1 + tanh(u)) / 2 is the logistic function of 2u,
// and 1 - tanh(u)^2 is four times its product with that of -2u (docs/ROUNDING.md, section 2).
#include "assay/backend/vendor/formula_loops.h"

namespace assay::vendor {
namespace {

// 1 / (1 + exp(-z)) and 1 / (1 + exp(z)). `sign` has the sign of z.
template <class T>
class Logistic {
 public:
  Logistic(const T& z, float sign) : negative_(sign < 0.0f), e_(Exp(negative_ ? z : -z)), sum_(T(1.0f) + e_) {}
  T of() const { return (negative_ ? e_ : T(1.0f)) / sum_; }
  T of_negative() const { return (negative_ ? T(1.0f) : e_) / sum_; }

 private:
  bool negative_;
  T e_, sum_;
};

// Twice what gelu_tanh takes the hyperbolic tangent of.
template <class T>
T TwiceInner(float x) {
  return T(2.0f) * (T(0.7978845608f) * (T(x) + T(0.044715f) * (T(x) * T(x) * T(x))));
}

template <class T>
T GeluTanh(float x) {
  return T(x) * Logistic<T>(TwiceInner<T>(x), x).of();
}

template <class T>
T GeluTanhGrad(float x, float dy) {
  const Logistic<T> s(TwiceInner<T>(x), x);
  const T of = s.of();
  const T d = T(0.7978845608f) * (T(1.0f) + T(0.134145f) * (T(x) * T(x)));
  return T(dy) * (of + T(2.0f) * T(x) * (of * s.of_negative() * d));
}

template <class T>
T GeluErf(float x) {
  return T(0.5f) * T(x) * (T(1.0f) + Erf(T(x) * T(0.7071067812f)));
}

template <class T>
T GeluErfGrad(float x, float dy) {
  const T e = Erf(T(x) * T(0.7071067812f));
  const T q = T(0.3989422804f) * Exp(T(-0.5f) * T(x) * T(x));
  return T(dy) * (T(x) * q + T(0.5f) * (T(1.0f) + e));
}

template <class T>
T SiluGrad(float x, float dy) {
  const Logistic<T> s(T(x), x);
  return T(dy) * (s.of() * (T(1.0f) + T(x) * s.of_negative()));
}

}  // namespace

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
  Unary(args, range, out, [](float x) { return Logistic<T>(T(x), x).of(); });
}

template <class T>
void Formula_silu(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, [](float x) { return T(x) * Logistic<T>(T(x), x).of(); });
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

}  // namespace assay::vendor
