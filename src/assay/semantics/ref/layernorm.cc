// layernorm layernorm_grad_x layernorm_grad_params by definition (docs/NUMERICS.md, section 5).
#include <cmath>

#include "assay/numerics/fma.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/reduce.h"
#include "assay/ops/rules.h"
#include "assay/semantics/ref/ref.h"
#include "assay/semantics/ref/rows.h"

namespace assay::ref {
namespace {

using numerics::Scalar;

struct RowStats {
  float mean;
  float rstd;
};

RowStats StatsOf(const float* x, std::int64_t n, float eps) {
  const auto count = static_cast<float>(n);
  const float mean = numerics::RowSum(n, [&](std::int64_t i) { return x[i]; }) / count;
  const float var = numerics::RowSumSquares(n, [&](std::int64_t i) { return x[i] - mean; }) / count;
  return {mean, numerics::Rsqrt<Scalar>(var + eps)};
}

}  // namespace

void Ref_layernorm(const KernelArgs& args, int output, Range range) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  const float eps = args.attrs().Float(0);
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  if (output != 0) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const RowStats stats = StatsOf(args.In<float>(0) + row * n, n, eps);
      out[row] = output == 1 ? stats.mean : stats.rstd;
    }
    return;
  }
  const float* gamma = args.In<float>(1);
  const float* beta = args.In<float>(2);
  ForEachRow(range, n, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    const float* x = args.In<float>(0) + row * n;
    const RowStats stats = StatsOf(x, n, eps);
    for (std::int64_t i = begin; i < end; ++i)
      out[row * n + i] = numerics::Fma((x[i] - stats.mean) * stats.rstd, gamma[i], beta[i]);
  });
}

void Ref_layernorm_grad_x(const KernelArgs& args, int, Range range) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  const auto count = static_cast<float>(n);
  const float* gamma = args.In<float>(1);
  ForEachRow(range, n, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    const float* x = args.In<float>(0) + row * n;
    const float mean = args.In<float>(2)[row];
    const float rstd = args.In<float>(3)[row];
    const float* dy = args.In<float>(4) + row * n;
    const auto g = [&](std::int64_t i) { return dy[i] * gamma[i]; };
    const auto h = [&](std::int64_t i) { return (x[i] - mean) * rstd; };
    const float a = numerics::RowSum(n, g) / count;
    const float b = numerics::RowDot(n, g, h) / count;
    float* dx = args.Out<float>(0) + row * n;
    for (std::int64_t i = begin; i < end; ++i) dx[i] = rstd * (numerics::Fma(-h(i), b, g(i)) - a);
  });
}

void Ref_layernorm_grad_params(const KernelArgs& args, int output, Range range) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float* x = args.In<float>(0);
  const float* mean = args.In<float>(1);
  const float* rstd = args.In<float>(2);
  const float* dy = args.In<float>(3);
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  for (std::int64_t c = range.begin; c < range.end; ++c) {
    const auto d = [&](std::int64_t r) { return dy[r * view.cols + c]; };
    const auto h = [&](std::int64_t r) { return (x[r * view.cols + c] - mean[r]) * rstd[r]; };
    out[c] = output == 0 ? numerics::ColDot(view.rows, d, h) : numerics::ColSum(view.rows, d);
  }
}

}  // namespace assay::ref
