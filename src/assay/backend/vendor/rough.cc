#include "assay/backend/vendor/rough.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/backend/vendor/formula.h"
#include "assay/ops/rules.h"
#include "assay/ops/table.h"

namespace assay::vendor {
namespace {

using numerics::kUnit;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double Relative(const Near& x) { return x.magnitude() > 0 ? x.e / x.magnitude() : kInfinite; }

// Moments. With g = grad · factor (plus weight_decay · p where that couples, two roundings more), m' = beta1 m + (1 - beta1) g has five roundings on terms of at most |m| and |g|, and
// v' = beta2 v + (1 - beta2) g g six on terms of at most |v| and g². Sixteen units of the terms are more than all of them with their second order.
// The parameter is p · shrink - d with d = lr1 · m' / (sqrt(v') / root2 + eps). v' is relatively off by at most 16 units (its terms have one sign; else the root is none), so the
// denominator by 16 units and the error of root2; m' by 16 (|m| + |g|) units, hence d by |d| · (the errors of lr1 and root2, 32 units, and 16 (|m| + |g|) / |m'| units). |d| is
// at most |p · shrink - y| and a few units of |p| and |y|; shrink is off by three units.
void RoughAdam(const KernelArgs& args, int output, Range range, const double* y, double* e, bool decoupled) {
  const Attrs& a = args.attrs();
  const float *p = args.In<float>(0), *grad = args.In<float>(1), *m = args.In<float>(2), *v = args.In<float>(3);
  const double beta1 = a.Float(0), factor = *args.In<float>(5), decay = a.Float(3), lr = *args.In<float>(4);
  const double coupled = decoupled ? 0.0 : std::fabs(decay), rest1 = 1 - beta1;
  const double shrink = decoupled ? 1 - lr * decay : 1.0, u16 = 16 * kUnit;
  if (output == 1) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const double g = std::fabs(grad[i] * factor) + coupled * std::fabs(double{p[i]});
      e[i - range.begin] = u16 * (std::fabs(double{m[i]}) + g);
    }
    return;
  }
  if (output == 2) {
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const double g = std::fabs(grad[i] * factor) + coupled * std::fabs(double{p[i]});
      e[i - range.begin] = u16 * (std::fabs(double{v[i]}) + g * g);
    }
    return;
  }
  const Near one(1.0f), step(static_cast<float>(*args.In<std::int64_t>(6)));
  const Near root2 = Sqrt(one - Pow(Near(a.Float(1)), step)),
             lr1 = Near(*args.In<float>(4)) / (one - Pow(Near(a.Float(0)), step));
  const double of_scalars = 2 * (Relative(root2) + Relative(lr1)) + 32 * kUnit;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const double g = grad[i] * factor + (decoupled ? 0.0 : decay * double{p[i]}), before = p[i];
    const double moment = std::fabs(beta1 * double{m[i]} + rest1 * g), terms = std::fabs(double{m[i]}) + std::fabs(g);
    const double around = 8 * kUnit * (std::fabs(before) + std::fabs(y[i - range.begin]));
    const double d = std::fabs(before * shrink - y[i - range.begin]) + around;
    // Where m' all but cancels nothing is said; where it and its terms are zero, so is d.
    const double lost = terms > 0 ? 2 * u16 * terms / moment : 0.0;
    e[i - range.begin] = lost < 0x1p-20 ? around + d * (of_scalars + lost) : kInfinite;
  }
}

void Rough_adam(const KernelArgs& args, int output, Range range, const double* y, double* e) {
  RoughAdam(args, output, range, y, e, false);
}
void Rough_adamw(const KernelArgs& args, int output, Range range, const double* y, double* e) {
  RoughAdam(args, output, range, y, e, true);
}

// p - lr · u with u made of g and the momentum m: every term passes at most nine roundings, and none is multiplied by more than one apart from the weights here. 32 units of all terms.
void Rough_sgd(const KernelArgs& args, int output, Range range, const double*, double* e) {
  const Attrs& a = args.attrs();
  const float *p = args.In<float>(0), *grad = args.In<float>(1), *m = args.In<float>(2);
  const double lr = std::fabs(double{*args.In<float>(3)}), factor = *args.In<float>(4), decay = std::fabs(double{a.Float(2)});
  const double damped = 1 + std::fabs(double{a.Float(1)}), of_p = output == 0 ? 1.0 : 0.0, of_rest = output == 0 ? 2 * lr : 1.0;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const double magnitude = std::fabs(double{p[i]}), g = std::fabs(grad[i] * factor) + decay * magnitude;
    e[i - range.begin] = 32 * kUnit * (of_p * magnitude + of_rest * (std::fabs(double{m[i]}) + damped * g));
  }
}

// |2u| of gelu_tanh: its two terms have one sign, seven roundings.
double Inner(double x) { return 1.6 * x * (1 + 0.045 * x * x); }

// x · sigma(2u): exp(-|2u|) is relatively off by 8 |2u| units and 2^-51, sigma and its complement by no more than twice that and four roundings.
void Rough_gelu_tanh(const KernelArgs& args, int, Range range, const double* y, double* e) {
  const float* x = args.In<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const double a = Inner(std::fabs(double{x[i]}));
    e[i - range.begin] = std::fabs(y[i - range.begin]) * (32 * kUnit * a + 0x1p-48);
  }
}

// dy · (sigma(2u) + 2x · sigma(2u) · sigma(-2u) · d): both terms relatively off by four times as much as above; sigma and its complement are at most one.
void Rough_gelu_tanh_grad(const KernelArgs& args, int, Range range, const double*, double* e) {
  const float *x = args.In<float>(0), *dy = args.In<float>(1);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const double magnitude = std::fabs(double{x[i]}), a = Inner(magnitude);
    const double terms = 1 + 1.6 * magnitude * (1 + 0.14 * magnitude * magnitude);
    e[i - range.begin] = std::fabs(double{dy[i]}) * terms * (64 * kUnit * a + 0x1p-47);
  }
}

// m + log(sum of exp(x - m)), less x of the target: an exponential is relatively off by |x - m| units and 2^-51, their sum by the greatest of that and its depth; the logarithm turns that into
// an absolute error, and is itself at most log n.
void Rough_cross_entropy(const KernelArgs& args, int, Range range, const double* y, double* e) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  const double depth = numerics::SumDepth(n) * kUnit + 0x1p-50;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const float* x = args.In<float>(0) + row * n;
    float least = x[0], most = x[0];
    for (std::int64_t i = 1; i < n; ++i) {
      least = x[i] < least ? x[i] : least;
      most = x[i] > most ? x[i] : most;
    }
    const double span = double{most} - double{least}, size = std::fabs(double{most}) + std::fabs(double{least});
    e[row - range.begin] = 4 * (span * kUnit + depth + kUnit * (size + std::fabs(y[row - range.begin]) + 64)) + 0x1p-49;
  }
}

}  // namespace

Rough RoughOf(OpIndex op) {
  switch (op) {
    case op::adam: return Rough_adam;
    case op::adamw: return Rough_adamw;
    case op::sgd: return Rough_sgd;
    case op::gelu_tanh: return Rough_gelu_tanh;
    case op::gelu_tanh_grad: return Rough_gelu_tanh_grad;
    case op::cross_entropy: return Rough_cross_entropy;
    default: return nullptr;
  }
}

}  // namespace assay::vendor
