// matmul: a contraction for each element.
#include "assay/ops/matmul_geometry.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {

template <class T>
void Formula_matmul(const KernelArgs& args, int, Range range, T* out) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  ForEachRow(range, g.n, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* y) {
    const std::int64_t p = row / g.m;
    const float* a = args.In<float>(0) + p * g.a_batch + row % g.m * g.a_row;
    for (std::int64_t n = begin; n < end; ++n) {
      const float* b = args.In<float>(1) + p * g.b_batch + n * g.b_col;
      y[n - begin] =
          Contract<T>(g.k, [&](std::int64_t k) { return a[k * g.a_col]; }, [&](std::int64_t k) { return b[k * g.b_row]; });
    }
  });
}

ASSAY_FORMULA(matmul);

}  // namespace assay::rounded
