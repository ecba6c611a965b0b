// matmul: contract(K) for each element.
#include "assay/ops/matmul_geometry.h"
#include "assay/semantics/ref/contract.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {

void Ref_matmul(const KernelArgs& args, int, Range range) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  float* out = args.Out<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t p = i / (g.m * g.n);
    const float* a = args.In<float>(0) + p * g.a_batch + i / g.n % g.m * g.a_row;
    const float* b = args.In<float>(1) + p * g.b_batch + i % g.n * g.b_col;
    Contraction sum;
    for (std::int64_t k = 0; k < g.k; ++k) sum.Add(a[k * g.a_col], b[k * g.b_row]);
    out[i] = sum.Total();
  }
}

}  // namespace assay::ref
