// batchnorm_train batchnorm_infer batchnorm_grad. Statistics are computed for the columns that a range touches.
#include <vector>

#include "assay/ops/rules.h"
#include "assay/semantics/rounded/column_sum.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {
namespace {

template <class T>
using RowOf = std::vector<T>;  // of a whole row; only those that are needed are computed

template <class T>
T& At(RowOf<T>& columns, std::int64_t c) {
  return columns[static_cast<std::size_t>(c)];
}

template <class T>
struct ColumnStats {
  RowOf<T> mean, var, rstd;
};

template <class T>
ColumnStats<T> StatsOf(const float* x, ops::MatrixView view, const std::vector<Range>& needed, float eps) {
  const T count = Count<T>(view.rows);
  const auto size = static_cast<std::size_t>(view.cols);
  ColumnStats<T> stats{RowOf<T>(size), RowOf<T>(size), RowOf<T>(size)};
  for (const Range columns : needed) {
    T* mean = stats.mean.data() + columns.begin;
    T* var = stats.var.data() + columns.begin;
    ColumnSums(view.rows, columns, [&](std::int64_t r, std::int64_t c) { return T(x[r * view.cols + c]); }, mean);
    for (std::int64_t c = 0; c < columns.size(); ++c) mean[c] = mean[c] / count;
    const auto square = [&](std::int64_t r, std::int64_t c) {
      const T d = T(x[r * view.cols + c]) - mean[c - columns.begin];
      return d * d;
    };
    ColumnSums(view.rows, columns, square, var);
    for (std::int64_t c = columns.begin; c < columns.end; ++c) {
      At(stats.var, c) = At(stats.var, c) / count;
      At(stats.rstd, c) = Rsqrt(At(stats.var, c) + T(eps));
    }
  }
  return stats;
}

struct Gradient {
  explicit Gradient(const KernelArgs& args)
      : view(ops::LastAxisView(args.in_type(0))),
        x(args.In<float>(0)),
        gamma(args.In<float>(1)),
        mean(args.In<float>(2)),
        rstd(args.In<float>(3)),
        dy(args.In<float>(4)) {}

  template <class T>
  T Normalised(std::int64_t i, std::int64_t c) const {
    return (T(x[i]) - T(mean[c])) * T(rstd[c]);
  }
  template <class T>
  void OfGamma(Range columns, T* out) const {
    const auto term = [&](std::int64_t r, std::int64_t c) {
      const std::int64_t i = r * view.cols + c;
      return T(dy[i]) * Normalised<T>(i, c);
    };
    ColumnSums(view.rows, columns, term, out);
  }
  template <class T>
  void OfBeta(Range columns, T* out) const {
    ColumnSums(view.rows, columns, [&](std::int64_t r, std::int64_t c) { return T(dy[r * view.cols + c]); }, out);
  }

  ops::MatrixView view;
  const float *x, *gamma, *mean, *rstd, *dy;
};

}  // namespace

template <class T>
void Formula_batchnorm_train(const KernelArgs& args, int output, Range range, T* out) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float* x = args.In<float>(0);
  const std::vector<Range> needed = output == 0 ? ops::ColumnsOf(range, view.cols) : std::vector<Range>{range};
  ColumnStats<T> stats = StatsOf<T>(x, view, needed, args.attrs().Float(0));
  if (output != 0) {
    const RowOf<T>& columns = output == 1 ? stats.mean : output == 2 ? stats.var : stats.rstd;
    std::copy_n(columns.begin() + static_cast<std::ptrdiff_t>(range.begin), range.size(), out);
    return;
  }
  const float* gamma = args.In<float>(1);
  const float* beta = args.In<float>(2);
  for (const Range columns : needed) {
    for (std::int64_t c = columns.begin; c < columns.end; ++c) At(stats.rstd, c) = T(gamma[c]) * At(stats.rstd, c);
  }
  ForEachRow(range, view.cols, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* y) {
    for (std::int64_t c = begin; c < end; ++c) {
      y[c - begin] = (T(x[row * view.cols + c]) - At(stats.mean, c)) * At(stats.rstd, c) + T(beta[c]);
    }
  });
}

template <class T>
void Formula_batchnorm_infer(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t cols = ops::LastAxisView(args.in_type(0)).cols;
  const float eps = args.attrs().Float(0);
  const float* x = args.In<float>(0);
  RowOf<T> factors(static_cast<std::size_t>(cols));
  for (const Range columns : ops::ColumnsOf(range, cols)) {
    for (std::int64_t c = columns.begin; c < columns.end; ++c) {
      At(factors, c) = T(args.In<float>(1)[c]) * Rsqrt(T(args.In<float>(4)[c]) + T(eps));
    }
  }
  ForEachRow(range, cols, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* y) {
    for (std::int64_t c = begin; c < end; ++c) {
      y[c - begin] = (T(x[row * cols + c]) - T(args.In<float>(3)[c])) * At(factors, c) + T(args.In<float>(2)[c]);
    }
  });
}

template <class T>
void Formula_batchnorm_grad(const KernelArgs& args, int output, Range range, T* out) {
  const Gradient g(args);
  if (output == 1) return g.OfGamma(range, out);
  if (output == 2) return g.OfBeta(range, out);
  const T count = Count<T>(g.view.rows);
  const auto size = static_cast<std::size_t>(g.view.cols);
  RowOf<T> dgamma(size), dbeta(size), factors(size);
  for (const Range columns : ops::ColumnsOf(range, g.view.cols)) {
    g.OfGamma(columns, dgamma.data() + columns.begin);
    g.OfBeta(columns, dbeta.data() + columns.begin);
    for (std::int64_t c = columns.begin; c < columns.end; ++c) {
      At(dgamma, c) = At(dgamma, c) / count;
      At(dbeta, c) = At(dbeta, c) / count;
      At(factors, c) = T(g.gamma[c]) * T(g.rstd[c]);
    }
  }
  ForEachRow(range, g.view.cols, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* dx) {
    for (std::int64_t c = begin; c < end; ++c) {
      const std::int64_t i = row * g.view.cols + c;
      dx[c - begin] = At(factors, c) * (T(g.dy[i]) - g.Normalised<T>(i, c) * At(dgamma, c) - At(dbeta, c));
    }
  });
}

ASSAY_FORMULA(batchnorm_train);
ASSAY_FORMULA(batchnorm_infer);
ASSAY_FORMULA(batchnorm_grad);

}  // namespace assay::rounded
