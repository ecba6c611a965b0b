// One element of rope, for the reference and its derivation. Pure; thread safe.
#pragma once

#include <cmath>

#include "assay/graph/op_def.h"
#include "assay/numerics/fma.h"
#include "assay/numerics/functions.h"

namespace assay::ref {

// Reads elements i and the other of its pair.
inline float RopeElement(const OpInstance& op, const float* in, std::int64_t i) {
  using numerics::Scalar;
  const Shape& shape = op.in[0].shape;
  const std::int64_t time = shape[1], heads = shape[2], width = shape[3], half = width / 2;
  const std::int64_t column = i % width, j = column % half;
  const std::int64_t position = op.attrs.Int(1) + i / (width * heads) % time;
  const float exponent = static_cast<float>(2 * j) / static_cast<float>(width);
  const float frequency = 1.0f / numerics::Pow<Scalar>(op.attrs.Float(0), exponent);
  const float angle = static_cast<float>(position) * frequency;
  const float c = numerics::Cos<Scalar>(angle);
  const float s = op.attrs.Int(2) != 0 ? -numerics::Sin<Scalar>(angle) : numerics::Sin<Scalar>(angle);
  const float* x = in + (i - column);
  return column < half ? numerics::Fma(x[j], c, -(x[j + half] * s)) : numerics::Fma(x[j + half], c, x[j] * s);
}

}  // namespace assay::ref
