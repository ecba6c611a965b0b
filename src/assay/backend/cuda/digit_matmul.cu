// matmul by digits: both operands are cut, then multiplied.
#include <algorithm>

#include "assay/backend/cuda/digit_gemm.h"
#include "assay/backend/cuda/digit_ops.h"
#include "assay/backend/cuda/digitize-inl.h"
#include "assay/ops/digits.h"
#include "assay/ops/matmul_geometry.h"

namespace assay::cuda::digits {
namespace {

// Digits of so many bytes at most lie in memory at once, unless one matrix has more.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 32;

std::int64_t BytesOf(std::int64_t rows, std::int64_t depth) {
  return 4 * PaddedRows(rows) * std::max<std::int64_t>(PaddedDepth(depth), 1);
}

void Cut(const Matrices& in, const DigitRows& out, int digits, Context& context) {
  digits == 3 ? Digitize<3>(in, out, context.multiprocessors(), context.stream())
              : Digitize<2>(in, out, context.multiprocessors(), context.stream());
  CheckLaunch("digits of a matrix");
}

}  // namespace

void Matmul(const KernelArgs& args, Context& context) {
  const int digits = ops::DigitsOf(*args.op);
  const ops::MatmulGeometry g = ops::GeometryOfMatmul(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  if (g.batch == 0 || g.m == 0 || g.n == 0) return;
  const bool each_a = g.a_batch != 0 && g.batch > 1, each_b = g.b_batch != 0 && g.batch > 1;
  const std::int64_t each = (each_a ? BytesOf(g.m, g.k) : 0) + (each_b ? BytesOf(g.n, g.k) : 0);
  const std::int64_t rows = std::max(PaddedRows(g.m), PaddedRows(g.n));
  const std::int64_t step = std::clamp<std::int64_t>(
      std::min(kMostBytes / std::max<std::int64_t>(each, 1), (std::int64_t{1} << 30) / rows), 1, g.batch);

  DigitGemm gemm{
      .m = g.m, .n = g.n, .blocks = static_cast<int>(PaddedDepth(g.k) / kBlock), .stride = g.n, .batch_stride = g.m * g.n};
  const auto take = [&](Scratch& scratch) {
    gemm.a = scratch.TakeRows(each_a ? step : 1, g.m, g.k, digits);
    gemm.b = scratch.TakeRows(each_b ? step : 1, g.n, g.k, digits);
    TakeForProduct(scratch, gemm, digits, context);
  };
  Scratch counted;
  take(counted);
  Scratch scratch(context.Scratch(counted.used()));
  take(scratch);
  for (std::int64_t p = 0; p < g.batch; p += step) {
    const std::int64_t count = std::min(step, g.batch - p);
    if (g.k > 0 && (p == 0 || each_a)) {
      Cut({args.In<float>(0) + p * g.a_batch, g.a_batch, g.a_row, g.a_col, each_a ? count : 1, g.m, g.k}, gemm.a, digits,
          context);
    }
    if (g.k > 0 && (p == 0 || each_b)) {
      Cut({args.In<float>(1) + p * g.b_batch, g.b_batch, g.b_col, g.b_row, each_b ? count : 1, g.n, g.k}, gemm.b, digits,
          context);
    }
    gemm.batch = static_cast<int>(count);
    gemm.out = args.Out<float>(0) + p * gemm.batch_stride;
    Multiply(gemm, digits, context);
  }
}

}  // namespace assay::cuda::digits
