#include <algorithm>
#include <numbers>

#include "oracle/oracle.h"

namespace assay::oracle {
namespace {

constexpr double kRoot2OverPi = 0.79788456080286535588;

template <class F>
Arrays Map(const Call& c, F f) {
  Array out;
  for (double x : c[0]) out.push_back(f(x));
  return {out};
}

template <class F>
Arrays Map2(const Call& c, F f) {
  Array out;
  for (std::size_t i = 0; i < c[0].size(); ++i) out.push_back(f(c[0][i], c[1][i]));
  return {out};
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Phi(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }

}  // namespace

Arrays Oracle_fill(const Call& c) { return {Array(Index(c.op.out[0].elements()), c.Float(1))}; }
Arrays Oracle_add(const Call& c) {
  return Map2(c, [](double a, double b) { return a + b; });
}
Arrays Oracle_sub(const Call& c) {
  return Map2(c, [](double a, double b) { return a - b; });
}
Arrays Oracle_mul(const Call& c) {
  return Map2(c, [](double a, double b) { return a * b; });
}
Arrays Oracle_div(const Call& c) {
  return Map2(c, [](double a, double b) { return a / b; });
}
Arrays Oracle_neg(const Call& c) {
  return Map(c, [](double x) { return -x; });
}
Arrays Oracle_scale(const Call& c) {
  return Map(c, [&](double x) { return x * c.Float(0); });
}
Arrays Oracle_add_scalar(const Call& c) {
  return Map(c, [&](double x) { return x + c.Float(0); });
}
Arrays Oracle_maximum(const Call& c) {
  return Map2(c, [](double a, double b) { return std::max(a, b); });
}

Arrays Oracle_broadcast_to(const Call& c) {
  const Shape& from = c.shape(0);
  const Shape& to = c.out_shape(0);
  Array out;
  for (std::int64_t i = 0; i < to.elements(); ++i) {
    std::int64_t rest = i, source = 0, stride = 1;
    for (int axis = 0; axis < to.rank(); ++axis) {
      const std::int64_t at = rest % to.Back(axis);
      rest /= to.Back(axis);
      if (axis >= from.rank()) continue;
      if (from.Back(axis) != 1) source += at * stride;
      stride *= from.Back(axis);
    }
    out.push_back(c[0][Index(source)]);
  }
  return {out};
}

Arrays Oracle_exp(const Call& c) {
  return Map(c, [](double x) { return std::exp(x); });
}
Arrays Oracle_log(const Call& c) {
  return Map(c, [](double x) { return std::log(x); });
}
Arrays Oracle_sqrt(const Call& c) {
  return Map(c, [](double x) { return std::sqrt(x); });
}
Arrays Oracle_rsqrt(const Call& c) {
  return Map(c, [](double x) { return 1 / std::sqrt(x); });
}
Arrays Oracle_tanh(const Call& c) {
  return Map(c, [](double x) { return std::tanh(x); });
}
Arrays Oracle_erf(const Call& c) {
  return Map(c, [](double x) { return std::erf(x); });
}
Arrays Oracle_sin(const Call& c) {
  return Map(c, [](double x) { return std::sin(x); });
}
Arrays Oracle_cos(const Call& c) {
  return Map(c, [](double x) { return std::cos(x); });
}
Arrays Oracle_pow(const Call& c) {
  return Map(c, [&](double x) { return std::pow(x, c.Float(0)); });
}

Arrays Oracle_relu(const Call& c) {
  return Map(c, [](double x) { return x > 0 ? x : 0; });
}
Arrays Oracle_relu_grad(const Call& c) {
  return Map2(c, [](double y, double dy) { return y > 0 ? dy : 0; });
}
Arrays Oracle_gelu_tanh(const Call& c) {
  return Map(c, [](double x) { return 0.5 * x * (1 + std::tanh(kRoot2OverPi * (x + 0.044715 * x * x * x))); });
}
Arrays Oracle_gelu_tanh_grad(const Call& c) {
  return Map2(c, [](double x, double dy) {
    const double t = std::tanh(kRoot2OverPi * (x + 0.044715 * x * x * x));
    return dy * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kRoot2OverPi * (1 + 3 * 0.044715 * x * x));
  });
}
Arrays Oracle_gelu_erf(const Call& c) {
  return Map(c, [](double x) { return x * Phi(x); });
}
Arrays Oracle_gelu_erf_grad(const Call& c) {
  return Map2(c, [](double x, double dy) {
    return dy * (Phi(x) + x * std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  });
}
Arrays Oracle_sigmoid(const Call& c) { return Map(c, Sigmoid); }
Arrays Oracle_silu(const Call& c) {
  return Map(c, [](double x) { return x * Sigmoid(x); });
}
Arrays Oracle_silu_grad(const Call& c) {
  return Map2(c, [](double x, double dy) { return dy * Sigmoid(x) * (1 + x * (1 - Sigmoid(x))); });
}

Arrays Oracle_dropout(const Call& c) {
  Array out;
  for (std::size_t i = 0; i < c[0].size(); ++i) {
    const bool keep = Keeps(c[1], c.Float(0), c.Int(1), static_cast<std::int64_t>(i));
    out.push_back(keep ? c[0][i] / (1 - c.Float(0)) : 0);
  }
  return {out};
}

}  // namespace assay::oracle
