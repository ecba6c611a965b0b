// The norm of a gradient (output 0) and the factor that clips it (output 1), for the host and for devices. Pure.
#pragma once

#include <cstdint>

#include "assay/numerics/bounded.h"

namespace assay::rounded {

// square(k), a binary32 value, is the sum of squares of tensor k of `count`. T is one of the number types of formula.h.
template <class T, class Square>
ASSAY_HD T ClipScale(std::int64_t count, const Square& square, float max_norm, int output) {
  const T norm = numerics::Sqrt(numerics::Sum<T>(count, [&](std::int64_t k) { return T(square(k)); }));
  if (output == 0) return norm;
  if (!(max_norm > 0.0f) || norm != norm) return T(1.0f);
  return numerics::Choose(norm, T(max_norm), T(max_norm) / (norm + T(1e-6f)), T(1.0f));
}

}  // namespace assay::rounded
