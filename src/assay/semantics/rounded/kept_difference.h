// keep·v - o of a key that dropout keeps, where keep = 1 / (1 - p) and o is all but equal to keep·v: the gradient of attention for a query that sees one key.
//
// It is evaluated as (v - o·(1 - p)) / (1 - p) with a fused numerator, which rounds once: the error is one of the difference, not of its two parts. 1 - p is exact unless p is below 2^-30.
// Value type; pure.
#pragma once

#include <cmath>
#include <type_traits>

#include "assay/numerics/bounded.h"
#include "assay/numerics/fma.h"

namespace assay::rounded {

class KeptDifference {
 public:
  ASSAY_HD explicit KeptDifference(float p) : p_(p), rest_(1.0 - double{p}) {}

  ASSAY_HD bool exact() const { return 1.0 - rest_ == double{p_}; }
  ASSAY_HD double rest() const { return rest_; }

  ASSAY_HD double Of(double v, double o) const { return numerics::Fma(-o, rest_, v) / rest_; }

  template <class T>
  ASSAY_HD T Of(float v, float o) const {
    if constexpr (std::is_same_v<T, double>) {
      return Of(double{v}, double{o});
    } else {
      const auto x = Value<decltype(T::v)>(v, o);
      const double magnitude = std::fabs(numerics::ToDouble(x));
      return T(x, 2 * numerics::kUnit * (magnitude + (exact() ? 0.0 : std::fabs(double{v}) / rest_)));
    }
  }

 private:
  template <class V>
  ASSAY_HD V Value(float v, float o) const {
    if constexpr (std::is_same_v<V, double>) {
      return Of(double{v}, double{o});
    } else {
      const V rest = V(1.0) - V(double{p_});
      return (V(double{v}) - V(double{o}) * rest) / rest;
    }
  }

  float p_;
  double rest_;
};

}  // namespace assay::rounded
