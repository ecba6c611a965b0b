#include "assay/semantics/rounded/rough.h"

#include <algorithm>
#include <cmath>

#include "assay/ops/rules.h"
#include "assay/ops/table.h"
#include "assay/semantics/rounded/formula.h"

namespace assay::rounded {
namespace {

using numerics::kUnit;

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
    case op::sgd: return Rough_sgd;
    case op::gelu_tanh: return Rough_gelu_tanh;
    case op::gelu_tanh_grad: return Rough_gelu_tanh_grad;
    case op::cross_entropy: return Rough_cross_entropy;
    default: return nullptr;
  }
}

}  // namespace assay::rounded
