// The extents of a convolution, derived once from the types for the shape rules, the dependencies and every kernel. The same
// struct describes conv2d and its two gradients: x [n, h, w, c], weights [o, kh, kw, c / groups], y and dy [n, oh, ow, o].
#pragma once

#include <cstdint>

#include "assay/graph/op_def.h"

namespace assay::ops {

struct Conv2dGeometry {
  std::int64_t n = 0, h = 0, w = 0, c = 0;
  std::int64_t o = 0, kh = 0, kw = 0;
  std::int64_t oh = 0, ow = 0;
  std::int64_t stride = 1, pad = 0, groups = 1;

  constexpr std::int64_t group_c() const { return c / groups; }
  constexpr std::int64_t group_o() const { return o / groups; }
};

inline Conv2dGeometry GeometryOfConv2d(const Attrs& attrs, const Shape& x, const Shape& weights) {
  Conv2dGeometry g{.n = x[0], .h = x[1], .w = x[2], .c = x[3], .o = weights[0], .kh = weights[1], .kw = weights[2]};
  g.stride = attrs.Int(0);
  g.pad = attrs.Int(1);
  g.groups = attrs.Int(2);
  g.oh = (g.h + 2 * g.pad - g.kh) / g.stride + 1;
  g.ow = (g.w + 2 * g.pad - g.kw) / g.stride + 1;
  return g;
}

inline Conv2dGeometry GeometryOfConv2dGradX(const Attrs& attrs, const Shape& dy, const Shape& weights) {
  return GeometryOfConv2d(attrs, {dy[0], attrs.Int(3), attrs.Int(4), weights[3] * attrs.Int(2)}, weights);
}

inline Conv2dGeometry GeometryOfConv2dGradW(const Attrs& attrs, const Shape& x, const Shape& dy) {
  return GeometryOfConv2d(attrs, x, {dy[3], attrs.Int(3), attrs.Int(4), x[3] / attrs.Int(2)});
}

}  // namespace assay::ops
