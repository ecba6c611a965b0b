// row_sum col_sum row_max row_max_grad sum_squares clip_scale by definition (docs/NUMERICS.md, sections 2 and 5).
#include "assay/numerics/reduce.h"

#include <array>
#include <cmath>

#include "assay/numerics/scalar.h"
#include "assay/ops/rules.h"
#include "assay/semantics/ref/reduce_rules.h"
#include "assay/semantics/ref/ref.h"
#include "assay/semantics/ref/rows.h"

namespace assay::ref {
namespace {

ops::MatrixView View(const KernelArgs& args) { return ops::SplitView(args.in_type(0), args.attrs().Int(0)); }

float RowMax(const float* x, std::int64_t n) {
  std::array<float, 32> lane{};
  const std::int64_t lanes = std::min<std::int64_t>(n, 32);
  for (std::int64_t i = 0; i < n; ++i) {
    float& m = lane[static_cast<std::size_t>(i % 32)];
    m = i < 32 ? x[i] : numerics::Scalar::Max(m, x[i]);
  }
  float m = lane[0];
  for (std::int64_t l = 1; l < lanes; ++l) m = numerics::Scalar::Max(m, lane[static_cast<std::size_t>(l)]);
  return m;
}

float TotalOfSquares(const KernelArgs& args) {
  float total = *args.In<float>(0);
  for (std::size_t k = 1; k < args.in.size(); ++k) total = total + *args.In<float>(k);
  return total;
}

}  // namespace

void Ref_row_sum(const KernelArgs& args, int, Range range) {
  const std::int64_t n = View(args).cols;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const float* x = args.In<float>(0) + row * n;
    args.Out<float>(0)[row] = numerics::RowSum(n, [&](std::int64_t i) { return x[i]; });
  }
}

void Ref_col_sum(const KernelArgs& args, int, Range range) {
  const ops::MatrixView view = View(args);
  const float* x = args.In<float>(0);
  for (std::int64_t c = range.begin; c < range.end; ++c) {
    args.Out<float>(0)[c] = numerics::ColSum(view.rows, [&](std::int64_t r) { return x[r * view.cols + c]; });
  }
}

void Ref_row_max(const KernelArgs& args, int, Range range) {
  const std::int64_t n = View(args).cols;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    args.Out<float>(0)[row] = RowMax(args.In<float>(0) + row * n, n);
  }
}

void Ref_row_max_grad(const KernelArgs& args, int, Range range) {
  const std::int64_t n = View(args).cols;
  ForEachRow(range, n, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    const float* x = args.In<float>(0) + row * n;
    const float y = args.In<float>(1)[row];
    std::int64_t first = 0;
    while (first < end && !IsMaximum(x[first], y)) ++first;
    float* dx = args.Out<float>(0) + row * n;
    for (std::int64_t i = begin; i < end; ++i) dx[i] = i == first ? args.In<float>(2)[row] : 0.0f;
  });
}

void Ref_sum_squares(const KernelArgs& args, int, Range range) {
  if (range.size() <= 0) return;
  const float* x = args.In<float>(0);
  *args.Out<float>(0) = numerics::RowSumSquares(args.in_type(0).elements(), [&](std::int64_t i) { return x[i]; });
}

void Ref_clip_scale(const KernelArgs& args, int output, Range range) {
  if (range.size() <= 0) return;
  const float max_norm = args.attrs().Float(0);
  const float norm = std::sqrt(TotalOfSquares(args));
  *args.Out<float>(static_cast<std::size_t>(output)) = output == 0 ? norm : ClipFactor(norm, max_norm);
}

}  // namespace assay::ref
