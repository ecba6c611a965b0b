// matmul: contract(K) of an element's row and column.
#include "assay/ops/matmul_geometry.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_sums.h"

namespace assay::ref::derive {

NodePtr Derive_matmul(const OpInstance& op, int, std::int64_t element) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t p = element / (g.m * g.n);
  const std::int64_t a = p * g.a_batch + element / g.n % g.m * g.a_row;
  const std::int64_t b = p * g.b_batch + element % g.n * g.b_col;
  return MakeContract([=](std::int64_t k) { return Factors{a + k * g.a_col, b + k * g.b_row}; }, g.k);
}

}  // namespace assay::ref::derive
