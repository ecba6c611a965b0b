// The elements of batchnorm_train and batchnorm_grad from the constants of their columns, with the bounds that Near has for the same formulas. Pure; thread safe.
#pragma once

#include <cstdint>

namespace assay::rounded {

// All begin at the first of n neighbouring elements, or at its column. Bounds are those of the constants, which may be null where e is.
struct TrainElements {
  const float *x, *beta;
  const double *mean, *mean_error, *factor, *factor_error;
};
struct GradElements {
  const float *x, *dy, *mean, *rstd;
  const double *of_gamma, *of_gamma_error, *of_beta, *of_beta_error;  // dgamma and dbeta, divided by the number of rows
  const double* factor;                                               // exact
};

// y = (x - mean) · factor + beta. e is null where no bounds are wanted.
void ComputeElements(const TrainElements& from, std::int64_t n, double* y, double* e);
// y = factor · (dy - (x - mean) · rstd · of_gamma - of_beta)
void ComputeElements(const GradElements& from, std::int64_t n, double* y, double* e);

}  // namespace assay::rounded
