// row_sum col_sum row_max row_max_grad sum_squares clip_scale.
#include "assay/numerics/scalar.h"
#include "assay/ops/rules.h"
#include "assay/semantics/rounded/clip_scale.h"
#include "assay/semantics/rounded/column_sum.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {
namespace {

ops::MatrixView View(const KernelArgs& args) { return ops::SplitView(args.in_type(0), args.attrs().Int(0)); }

// Whether x is the maximum y of its row: NaN is NaN.
bool IsMaximum(float x, float y) { return x == y || (y != y && x != x); }

}  // namespace

template <class T>
void Formula_row_sum(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t n = View(args).cols;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const float* x = args.In<float>(0) + row * n;
    out[row - range.begin] = Sum<T>(n, [&](std::int64_t i) { return T(x[i]); });
  }
}

template <class T>
void Formula_col_sum(const KernelArgs& args, int, Range range, T* out) {
  const ops::MatrixView view = View(args);
  const float* x = args.In<float>(0);
  ColumnSums(view.rows, range, [&](std::int64_t r, std::int64_t c) { return T(x[r * view.cols + c]); }, out);
}

template <class T>
void Formula_row_max(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t n = View(args).cols;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const float* x = args.In<float>(0) + row * n;
    float m = x[0];
    for (std::int64_t i = 1; i < n; ++i) m = numerics::Scalar::Max(m, x[i]);
    out[row - range.begin] = T(m);
  }
}

template <class T>
void Formula_row_max_grad(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t n = View(args).cols;
  ForEachRow(range, n, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* dx) {
    const float* x = args.In<float>(0) + row * n;
    const float y = args.In<float>(1)[row];
    std::int64_t first = 0;
    while (first < end && !IsMaximum(x[first], y)) ++first;
    std::fill(dx, dx + (end - begin), T(0.0f));
    if (first >= begin && first < end) dx[first - begin] = T(args.In<float>(2)[row]);
  });
}

template <class T>
void Formula_sum_squares(const KernelArgs& args, int, Range range, T* out) {
  if (range.size() <= 0) return;
  const float* x = args.In<float>(0);
  *out = Sum<T>(args.in_type(0).elements(), [&](std::int64_t i) { return T(x[i]) * T(x[i]); });
}

template <class T>
void Formula_clip_scale(const KernelArgs& args, int output, Range range, T* out) {
  if (range.size() <= 0) return;
  const float max_norm = args.attrs().Float(0);
  *out = ClipScale<T>(
      static_cast<std::int64_t>(args.in.size()), [&](std::int64_t k) { return *args.In<float>(static_cast<std::size_t>(k)); },
      max_norm, output);
}

ASSAY_FORMULA(row_sum);
ASSAY_FORMULA(col_sum);
ASSAY_FORMULA(row_max);
ASSAY_FORMULA(row_max_grad);
ASSAY_FORMULA(sum_squares);
ASSAY_FORMULA(clip_scale);

}  // namespace assay::rounded
