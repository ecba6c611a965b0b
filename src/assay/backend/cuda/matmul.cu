// matmul: contract(K) for each element, on the tiled core. How an operand lies decides how it is loaded.
#include "assay/backend/cuda/gemm-inl.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/ops/matmul_geometry.h"

namespace assay::cuda {
namespace {

using gemm::AlongK;
using gemm::AlongRows;

using MatmulOperands = gemm::Operands<gemm::Matrix, gemm::Matrix, gemm::PlainRows>;

// With A loaded as `A`, by how B lies.
template <class A>
void LaunchWith(bool b_along_k, const MatmulOperands& operands, const gemm::Extents& extents, Context& context) {
  if (b_along_k) {
    gemm::Launch<A, AlongK>(operands, extents, context);
  } else if (operands.b.ld % 4 == 0) {
    gemm::Launch<A, AlongRows<4>>(operands, extents, context);
  } else {
    gemm::Launch<A, AlongRows<1>>(operands, extents, context);
  }
}

}  // namespace

void gemm::Product(const ops::MatmulGeometry& g, const float* a, const float* b, float* out, Context& context) {
  if (g.batch == 0 || g.m == 0 || g.n == 0) return;
  const gemm::Extents extents{g.batch, g.m, g.n, g.k};
  const MatmulOperands operands{.a = {a, g.m, g.transpose_a ? g.m : g.k, g.a_batch},
                                .b = {b, g.n, g.transpose_b ? g.k : g.n, g.b_batch},
                                .rows = {g.n, g.m * g.n},
                                .out = out,
                                .vector_out = g.n % 4 == 0};
  if (!g.transpose_a) {
    LaunchWith<AlongK>(g.transpose_b, operands, extents, context);
  } else if (g.m % 4 == 0) {
    LaunchWith<AlongRows<4>>(g.transpose_b, operands, extents, context);
  } else {
    LaunchWith<AlongRows<1>>(g.transpose_b, operands, extents, context);
  }
}

void Run_matmul(const KernelArgs& args, Context& context) {
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  gemm::Product(g, args.In<float>(0), args.In<float>(1), args.Out<float>(0), context);
}

}  // namespace assay::cuda
