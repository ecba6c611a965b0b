// How a matmul's operands lie in memory, derived once from its types for the shape rule, the dependencies and every kernel.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/graph/op_def.h"

namespace assay::ops {

// out[p, m, n] = sum over k of a[p·a_batch + m·a_row + k·a_col] · b[p·b_batch + k·b_row + n·b_col]; a batch stride of 0 is a shared operand.
struct MatmulGeometry {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::int64_t a_batch = 0, a_row = 0, a_col = 0;
  std::int64_t b_batch = 0, b_row = 0, b_col = 0;
  bool transpose_a = false, transpose_b = false;
};

inline MatmulGeometry GeometryOfMatmul(const Attrs& attrs, const Shape& a, const Shape& b) {
  MatmulGeometry g;
  g.transpose_a = attrs.Int(0) != 0;
  g.transpose_b = attrs.Int(1) != 0;
  g.m = a.Back(g.transpose_a ? 0 : 1);
  g.k = a.Back(g.transpose_a ? 1 : 0);
  g.n = b.Back(g.transpose_b ? 1 : 0);
  const Shape& outer = a.rank() >= b.rank() ? a : b;
  g.batch = outer.Product(0, outer.rank() - 2);
  g.a_batch = a.rank() == outer.rank() && a.rank() > 2 ? g.m * g.k : 0;
  g.b_batch = b.rank() == outer.rank() && b.rank() > 2 ? g.k * g.n : 0;
  g.a_row = g.transpose_a ? 1 : g.k;
  g.a_col = g.transpose_a ? g.m : 1;
  g.b_row = g.transpose_b ? 1 : g.n;
  g.b_col = g.transpose_b ? g.k : 1;
  return g;
}

}  // namespace assay::ops
