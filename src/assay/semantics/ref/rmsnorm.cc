// rmsnorm rmsnorm_grad_x rmsnorm_grad_gamma by definition (docs/NUMERICS.md, section 5).
#include <cmath>

#include "assay/numerics/fma.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/reduce.h"
#include "assay/ops/rules.h"
#include "assay/semantics/ref/ref.h"
#include "assay/semantics/ref/rows.h"

namespace assay::ref {
namespace {

float RstdOf(const float* x, std::int64_t n, float eps) {
  const float mean_square = numerics::RowSumSquares(n, [&](std::int64_t i) { return x[i]; }) / static_cast<float>(n);
  return numerics::Rsqrt<numerics::Scalar>(mean_square + eps);
}

}  // namespace

void Ref_rmsnorm(const KernelArgs& args, int output, Range range) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  const float eps = args.attrs().Float(0);
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  if (output == 1) {
    for (std::int64_t row = range.begin; row < range.end; ++row) out[row] = RstdOf(args.In<float>(0) + row * n, n, eps);
    return;
  }
  const float* gamma = args.In<float>(1);
  ForEachRow(range, n, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    const float* x = args.In<float>(0) + row * n;
    const float rstd = RstdOf(x, n, eps);
    for (std::int64_t i = begin; i < end; ++i) out[row * n + i] = (x[i] * rstd) * gamma[i];
  });
}

void Ref_rmsnorm_grad_x(const KernelArgs& args, int, Range range) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  const float* gamma = args.In<float>(1);
  ForEachRow(range, n, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    const float* x = args.In<float>(0) + row * n;
    const float rstd = args.In<float>(2)[row];
    const float* dy = args.In<float>(3) + row * n;
    const auto g = [&](std::int64_t i) { return dy[i] * gamma[i]; };
    const auto h = [&](std::int64_t i) { return x[i] * rstd; };
    const float b = numerics::RowDot(n, g, h) / static_cast<float>(n);
    float* dx = args.Out<float>(0) + row * n;
    for (std::int64_t i = begin; i < end; ++i) dx[i] = rstd * numerics::Fma(-h(i), b, g(i));
  });
}

void Ref_rmsnorm_grad_gamma(const KernelArgs& args, int, Range range) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float* x = args.In<float>(0);
  const float* rstd = args.In<float>(1);
  const float* dy = args.In<float>(2);
  for (std::int64_t c = range.begin; c < range.end; ++c) {
    args.Out<float>(0)[c] = numerics::ColDot(
        view.rows, [&](std::int64_t r) { return dy[r * view.cols + c]; },
        [&](std::int64_t r) { return x[r * view.cols + c] * rstd[r]; });
  }
}

}  // namespace assay::ref
