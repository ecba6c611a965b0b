// matmul: contract(K) or digitsum of an element's row and column.
#include "assay/numerics/digits.h"
#include "assay/ops/digits.h"
#include "assay/ops/matmul_geometry.h"
#include "assay/semantics/ref/derive_digits.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_sums.h"

namespace assay::ref::derive {

NodePtr Derive_matmul(const OpInstance& op, int, std::int64_t element) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t p = element / (g.m * g.n);
  const std::int64_t a = p * g.a_batch + element / g.n % g.m * g.a_row;
  const std::int64_t b = p * g.b_batch + element % g.n * g.b_col;
  if (const int digits = ops::DigitsOf(op); digits != 0) {
    const auto block = [=](std::int64_t number) {
      const std::int64_t first = number * numerics::kDigitBlock;
      const DigitPlace in_a = [=](std::int64_t k) { return a + (first + k) * g.a_col; };
      const DigitPlace in_b = [=](std::int64_t k) { return b + (first + k) * g.b_row; };
      const std::int64_t count = std::min(numerics::kDigitBlock, g.k - first);
      return DigitProduct{digits, {0, in_a, in_a, count}, {1, in_b, in_b, count}, count};
    };
    return MakeDigitSum(block, CeilDiv(g.k, numerics::kDigitBlock));
  }
  return MakeContract([=](std::int64_t k) { return Factors{a + k * g.a_col, b + k * g.b_row}; }, g.k);
}

}  // namespace assay::ref::derive
