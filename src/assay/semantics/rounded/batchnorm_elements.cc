#include "assay/semantics/rounded/batchnorm_elements.h"

#include <cmath>

#include "assay/numerics/bounded.h"

namespace assay::rounded {
namespace {

using numerics::kUnit;

template <bool bounds>
[[gnu::always_inline]] inline void Train(std::int64_t n, const float* __restrict x, const float* __restrict beta,
                                         const double* __restrict mean, const double* __restrict mean_error,
                                         const double* __restrict factor, const double* __restrict factor_error,
                                         double* __restrict y, double* __restrict e) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double d = x[j] - mean[j], product = d * factor[j], value = product + beta[j];
    y[j] = value;
    if (!bounds) continue;
    const double size = std::fabs(d), error = mean_error[j] + kUnit * size;
    e[j] = size * factor_error[j] + (std::fabs(factor[j]) + 3 * factor_error[j]) * error + kUnit * std::fabs(product) +
           kUnit * std::fabs(value);
  }
}

template <bool bounds>
[[gnu::always_inline]] inline void Grad(std::int64_t n, const float* __restrict x, const float* __restrict dy,
                                        const float* __restrict mean, const float* __restrict rstd,
                                        const double* __restrict of_gamma, const double* __restrict of_gamma_error,
                                        const double* __restrict of_beta, const double* __restrict of_beta_error,
                                        const double* __restrict factor, double* __restrict y, double* __restrict e) {
  for (std::int64_t j = 0; j < n; ++j) {
    const double d = double{x[j]} - mean[j], r = rstd[j], h = d * r, w = h * of_gamma[j];
    const double first = dy[j] - w, second = first - of_beta[j], value = factor[j] * second;
    y[j] = value;
    if (!bounds) continue;
    const double of_h = kUnit * (std::fabs(r) * std::fabs(d)) + kUnit * std::fabs(h);
    const double of_w =
        std::fabs(h) * of_gamma_error[j] + (std::fabs(of_gamma[j]) + 3 * of_gamma_error[j]) * of_h + kUnit * std::fabs(w);
    const double error = of_w + kUnit * std::fabs(first) + of_beta_error[j] + kUnit * std::fabs(second);
    e[j] = std::fabs(factor[j]) * error + kUnit * std::fabs(value);
  }
}

template <bool bounds>
[[gnu::always_inline]] inline void Run(const TrainElements& f, std::int64_t n, double* y, double* e) {
  Train<bounds>(n, f.x, f.beta, f.mean, f.mean_error, f.factor, f.factor_error, y, e);
}
template <bool bounds>
[[gnu::always_inline]] inline void Run(const GradElements& f, std::int64_t n, double* y, double* e) {
  Grad<bounds>(n, f.x, f.dy, f.mean, f.rstd, f.of_gamma, f.of_gamma_error, f.of_beta, f.of_beta_error, f.factor, y, e);
}

template <class Elements>
[[gnu::always_inline]] inline void RunEither(const Elements& from, std::int64_t n, double* y, double* e) {
  e != nullptr ? Run<true>(from, n, y, e) : Run<false>(from, n, y, e);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void RunAvx2(const TrainElements& from, std::int64_t n, double* y, double* e) {
  RunEither(from, n, y, e);
}
[[gnu::target("avx2")]] void RunAvx2(const GradElements& from, std::int64_t n, double* y, double* e) {
  RunEither(from, n, y, e);
}
#endif

template <class Elements>
void Dispatch(const Elements& from, std::int64_t n, double* y, double* e) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") != 0) return RunAvx2(from, n, y, e);
#endif
  RunEither(from, n, y, e);
}

}  // namespace

void ComputeElements(const TrainElements& from, std::int64_t n, double* y, double* e) { Dispatch(from, n, y, e); }
void ComputeElements(const GradElements& from, std::int64_t n, double* y, double* e) { Dispatch(from, n, y, e); }

}  // namespace assay::rounded
