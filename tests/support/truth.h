// The true values of the elementary functions, for tests: glibc's double functions decide nearly always, MPFR where they cannot.
#pragma once

#ifdef ASSAY_HAVE_MPFR
#include <mpfr.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>

#include "assay/numerics/functions.h"

namespace assay::numerics {

// The distance of `got` from `truth` in units of the last place that binary32 has at `truth`. Infinity counts as 2^128, which is where
// rounding leads to; two NaNs agree, a NaN and a number are infinitely far apart.
inline double UlpError(float got, double truth) {
  if (truth != truth || got != got) return (truth != truth) == (got != got) ? 0.0 : HUGE_VAL;
  const auto bounded = [](double x) { return std::clamp(x, -0x1p128, 0x1p128); };
  const double t = bounded(truth);
  int exponent = 0;
  std::frexp(t, &exponent);
  return std::fabs(bounded(static_cast<double>(got)) - t) * std::ldexp(1.0, -std::max(std::min(exponent, 128) - 24, -149));
}

struct Truth {
  const char* name;
  float (*ours)(float);
  double (*quick)(double);  // within a few ulps of double
#ifdef ASSAY_HAVE_MPFR
  int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
#endif
};

#ifdef ASSAY_HAVE_MPFR
#define ASSAY_TRUTH(name, Ours, quick, exact)                            \
  Truth {                                                                \
    #name, Ours<Scalar>, [](double x) -> double { return quick; }, exact \
  }
#else
#define ASSAY_TRUTH(name, Ours, quick, exact)                     \
  Truth {                                                         \
    #name, Ours<Scalar>, [](double x) -> double { return quick; } \
  }
#endif

inline constexpr std::array<Truth, 7> kTruths = {
    ASSAY_TRUTH(exp, Exp, std::exp(x), mpfr_exp),
    ASSAY_TRUTH(log, Log, std::log(x), mpfr_log),
    ASSAY_TRUTH(tanh, Tanh, std::tanh(x), mpfr_tanh),
    ASSAY_TRUTH(erf, Erf, std::erf(x), mpfr_erf),
    ASSAY_TRUTH(sin, Sin, std::sin(x), mpfr_sin),
    ASSAY_TRUTH(cos, Cos, std::cos(x), mpfr_cos),
    ASSAY_TRUTH(rsqrt, Rsqrt, 1.0 / std::sqrt(x), mpfr_rec_sqrt),
};
#undef ASSAY_TRUTH

#ifdef ASSAY_HAVE_MPFR
// The true value rounded to double, by MPFR. At zero the limits are IEEE's, which knows the sign of 1 / sqrt(-0).
inline double ExactValue(const Truth& truth, float x) {
  if (x == 0) return truth.quick(static_cast<double>(x));
  mpfr_t a, y;
  mpfr_init2(a, 24);
  mpfr_init2(y, 120);
  mpfr_set_flt(a, x, MPFR_RNDN);
  truth.exact(y, a, MPFR_RNDN);
  const double value = mpfr_get_d(y, MPFR_RNDN);
  mpfr_clears(a, y, static_cast<mpfr_ptr>(nullptr));
  return value;
}
#endif

// The error of `got` in ulps; 0.5 stands for all that is correctly rounded. A quick value off by 2^-50 moves the error by less than
// 1e-7 ulp, so only errors next to 1 need MPFR.
inline double ErrorAt(const Truth& truth, float x, float got) {
  const double quick = truth.quick(static_cast<double>(x));
  if (static_cast<float>(quick) == got) return 0.5;
  const double error = UlpError(got, quick);
#ifdef ASSAY_HAVE_MPFR
  if (error > 0.9999) return UlpError(got, ExactValue(truth, x));
#endif
  return error;
}

}  // namespace assay::numerics
