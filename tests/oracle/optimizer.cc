#include "oracle/oracle.h"

namespace assay::oracle {
namespace {

// (p, g, m, v, lr, factor, step); attributes beta1, beta2, eps, weight_decay.
Arrays AdamFamily(const Call& c, bool decoupled) {
  const double beta1 = c.Float(0), beta2 = c.Float(1), eps = c.Float(2), decay = c.Float(3);
  const double lr = c[4][0], factor = c[5][0], step = c[6][0];
  Array p = c[0], m = c[2], v = c[3];
  for (std::size_t i = 0; i < p.size(); ++i) {
    double g = c[1][i] * factor;
    if (decoupled) {
      p[i] -= lr * decay * p[i];
    } else {
      g += decay * p[i];
    }
    m[i] = beta1 * m[i] + (1 - beta1) * g;
    v[i] = beta2 * v[i] + (1 - beta2) * g * g;
    const double m_hat = m[i] / (1 - std::pow(beta1, step));
    const double v_hat = v[i] / (1 - std::pow(beta2, step));
    p[i] -= lr * m_hat / (std::sqrt(v_hat) + eps);
  }
  return {p, m, v};
}

}  // namespace

// (p, g, m, lr, factor); attributes momentum, dampening, weight_decay, nesterov.
Arrays Oracle_sgd(const Call& c) {
  const double momentum = c.Float(0), dampening = c.Float(1), decay = c.Float(2);
  const bool nesterov = c.Int(3) != 0;
  Array p = c[0], m = c[2];
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double g = c[1][i] * c[4][0] + decay * p[i];
    double u = g;
    if (momentum != 0) {
      m[i] = momentum * m[i] + (1 - dampening) * g;
      u = nesterov ? g + momentum * m[i] : m[i];
    }
    p[i] -= c[3][0] * u;
  }
  return {p, m};
}

Arrays Oracle_adam(const Call& c) { return AdamFamily(c, false); }
Arrays Oracle_adamw(const Call& c) { return AdamFamily(c, true); }

}  // namespace assay::oracle
