// matmul: one contraction, or one per matrix of a batch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/matmul.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/gemm-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/pack-inl.h"
#include "assay/ops/matmul_geometry.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {

void RunOne(const ops::MatmulGeometry& g, const float* a, const float* b, float* c, Context& context, int worker) {
  const ContiguousLines a_rows(a, g.a_row), b_columns(b, g.b_col);
  const AdjacentLines a_transposed(a, g.a_col), b_rows(b, g.b_row);
  const Contraction task{.m = g.m,
                         .n = g.n,
                         .k = g.k,
                         .a = g.transpose_a ? static_cast<const Operand*>(&a_transposed) : &a_rows,
                         .b = g.transpose_b ? static_cast<const Operand*>(&b_columns) : &b_rows,
                         .c = c,
                         .c_stride = g.n};
  Gemm(task, context, worker);
}

}  // namespace

void Run_matmul(const KernelArgs& args, Context& context) {
  ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  // Matrices that lie behind each other and meet the same b are one tall matrix.
  if (g.batch > 1 && !g.transpose_a && g.a_batch != 0 && g.b_batch == 0) {
    g.m *= g.batch;
    g.batch = 1;
  }
  const float* a = args.In<float>(0);
  const float* b = args.In<float>(1);
  float* c = args.Out<float>(0);
  const auto run = [&](std::int64_t i, int worker)
                       HWY_ATTR { RunOne(g, a + i * g.a_batch, b + i * g.b_batch, c + i * g.m * g.n, context, worker); };
  if (g.batch >= 2 * context.pool().threads()) {
    context.pool().ParallelFor(g.batch, 1, [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
      for (std::int64_t i = begin; i < end; ++i) run(i, worker);
    });
  } else {
    for (std::int64_t i = 0; i < g.batch; ++i) run(i, Context::kShared);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
