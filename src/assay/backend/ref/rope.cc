// rope: each pair (x[j], x[j + D/2]) is turned by its position times the pair's frequency.
#include <cmath>

#include "assay/backend/ref/ref.h"
#include "assay/numerics/functions.h"

namespace assay::ref {

void Ref_rope(const KernelArgs& args, int, Range range) {
  using numerics::Scalar;
  const Shape& shape = args.in_type(0).shape;
  const std::int64_t time = shape[1], heads = shape[2], width = shape[3], half = width / 2;
  const float base = args.attrs().Float(0);
  const std::int64_t offset = args.attrs().Int(1);
  const bool inverse = args.attrs().Int(2) != 0;
  const float* in = args.In<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t column = i % width, j = column % half;
    const std::int64_t position = offset + i / (width * heads) % time;
    const float exponent = static_cast<float>(2 * j) / static_cast<float>(width);
    const float frequency = 1.0f / numerics::Pow<Scalar>(base, exponent);
    const float angle = static_cast<float>(position) * frequency;
    const float c = numerics::Cos<Scalar>(angle);
    const float s = inverse ? -numerics::Sin<Scalar>(angle) : numerics::Sin<Scalar>(angle);
    const float* x = in + (i - column);
    args.Out<float>(0)[i] = column < half ? std::fma(x[j], c, -(x[j + half] * s)) : std::fma(x[j + half], c, x[j] * s);
  }
}

}  // namespace assay::ref
