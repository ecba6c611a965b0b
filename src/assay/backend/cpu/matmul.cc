// matmul: one contraction, or one per matrix of a batch, with digits or without.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/matmul.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/digit_gemm-inl.h"
#include "assay/backend/cpu/gemm-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/pack-inl.h"
#include "assay/ops/digits.h"
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

void RunOneByDigits(const ops::MatmulGeometry& g, int digits, const float* a, const float* b, float* c, Context& context,
                    int worker) {
  const DigitContraction task{.m = g.m,
                              .n = g.n,
                              .k = g.k,
                              .digits = digits,
                              .a = {a, g.transpose_a ? g.a_col : g.a_row, g.transpose_a},
                              .b = {b, g.transpose_b ? g.b_col : g.b_row, !g.transpose_b},
                              .c = c,
                              .c_stride = g.n};
  GemmDigits(task, context, worker);
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
  const int digits = ops::DigitsOf(*args.op);
  const auto run = [&](std::int64_t i, int worker) HWY_ATTR {
    const float* a_i = a + i * g.a_batch;
    const float* b_i = b + i * g.b_batch;
    float* c_i = c + i * g.m * g.n;
    if (digits != 0) {
      RunOneByDigits(g, digits, a_i, b_i, c_i, context, worker);
    } else {
      RunOne(g, a_i, b_i, c_i, context, worker);
    }
  };
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
