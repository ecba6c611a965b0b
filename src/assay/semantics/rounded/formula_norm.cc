// layernorm and rmsnorm with their gradients. Statistics of a row are computed once for the part of the row that a range touches.
#include <vector>

#include "assay/ops/rules.h"
#include "assay/semantics/rounded/column_sum.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {
namespace {

template <class T>
struct RowStats {
  T mean, rstd;
};

template <class T>
RowStats<T> StatsOf(const float* x, std::int64_t n, float eps) {
  const T count = Count<T>(n);
  const T mean = Sum<T>(n, [&](std::int64_t i) { return T(x[i]); }) / count;
  const T squares = Sum<T>(n, [&](std::int64_t i) {
    const T d = T(x[i]) - mean;
    return d * d;
  });
  return {mean, Rsqrt(squares / count + T(eps))};
}

template <class T>
T RootOf(const float* x, std::int64_t n, float eps) {
  return Rsqrt(Sum<T>(n, [&](std::int64_t i) { return T(x[i]) * T(x[i]); }) / Count<T>(n) + T(eps));
}

}  // namespace

template <class T>
void Formula_layernorm(const KernelArgs& args, int output, Range range, T* out) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  const float eps = args.attrs().Float(0);
  if (output != 0) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      const RowStats<T> stats = StatsOf<T>(args.In<float>(0) + row * n, n, eps);
      out[row - range.begin] = output == 1 ? stats.mean : stats.rstd;
    }
    return;
  }
  const float* gamma = args.In<float>(1);
  const float* beta = args.In<float>(2);
  ForEachRow(range, n, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* y) {
    const float* x = args.In<float>(0) + row * n;
    const RowStats<T> stats = StatsOf<T>(x, n, eps);
    for (std::int64_t i = begin; i < end; ++i) {
      y[i - begin] = (T(x[i]) - stats.mean) * stats.rstd * T(gamma[i]) + T(beta[i]);
    }
  });
}

template <class T>
void Formula_layernorm_grad_x(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  const T count = Count<T>(n);
  const float* gamma = args.In<float>(1);
  ForEachRow(range, n, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* dx) {
    const float* x = args.In<float>(0) + row * n;
    const T mean(args.In<float>(2)[row]), rstd(args.In<float>(3)[row]);
    const float* dy = args.In<float>(4) + row * n;
    const auto g = [&](std::int64_t i) { return T(dy[i]) * T(gamma[i]); };
    const auto h = [&](std::int64_t i) { return (T(x[i]) - mean) * rstd; };
    const T a = Sum<T>(n, g) / count;
    const T b = Sum<T>(n, [&](std::int64_t i) { return g(i) * h(i); }) / count;
    for (std::int64_t i = begin; i < end; ++i) dx[i - begin] = rstd * (g(i) - h(i) * b - a);
  });
}

template <class T>
void Formula_layernorm_grad_params(const KernelArgs& args, int output, Range range, T* out) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float* x = args.In<float>(0);
  const float* mean = args.In<float>(1);
  const float* rstd = args.In<float>(2);
  const float* dy = args.In<float>(3);
  if (output == 0) {
    const auto term = [&](std::int64_t r, std::int64_t c) {
      return T(dy[r * view.cols + c]) * ((T(x[r * view.cols + c]) - T(mean[r])) * T(rstd[r]));
    };
    ColumnSums(view.rows, range, term, out);
  } else {
    ColumnSums(view.rows, range, [&](std::int64_t r, std::int64_t c) { return T(dy[r * view.cols + c]); }, out);
  }
}

template <class T>
void Formula_rmsnorm(const KernelArgs& args, int output, Range range, T* out) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  const float eps = args.attrs().Float(0);
  if (output == 1) {
    for (std::int64_t row = range.begin; row < range.end; ++row) {
      out[row - range.begin] = RootOf<T>(args.In<float>(0) + row * n, n, eps);
    }
    return;
  }
  const float* gamma = args.In<float>(1);
  ForEachRow(range, n, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* y) {
    const float* x = args.In<float>(0) + row * n;
    const T rstd = RootOf<T>(x, n, eps);
    for (std::int64_t i = begin; i < end; ++i) y[i - begin] = T(x[i]) * rstd * T(gamma[i]);
  });
}

template <class T>
void Formula_rmsnorm_grad_x(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  const float* gamma = args.In<float>(1);
  ForEachRow(range, n, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* dx) {
    const float* x = args.In<float>(0) + row * n;
    const T rstd(args.In<float>(2)[row]);
    const float* dy = args.In<float>(3) + row * n;
    const auto g = [&](std::int64_t i) { return T(dy[i]) * T(gamma[i]); };
    const auto h = [&](std::int64_t i) { return T(x[i]) * rstd; };
    const T b = Sum<T>(n, [&](std::int64_t i) { return g(i) * h(i); }) / Count<T>(n);
    for (std::int64_t i = begin; i < end; ++i) dx[i - begin] = rstd * (g(i) - h(i) * b);
  });
}

template <class T>
void Formula_rmsnorm_grad_gamma(const KernelArgs& args, int, Range range, T* out) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float* x = args.In<float>(0);
  const float* rstd = args.In<float>(1);
  const float* dy = args.In<float>(2);
  const auto term = [&](std::int64_t r, std::int64_t c) {
    return T(dy[r * view.cols + c]) * (T(x[r * view.cols + c]) * T(rstd[r]));
  };
  ColumnSums(view.rows, range, term, out);
}

ASSAY_FORMULA(layernorm);
ASSAY_FORMULA(layernorm_grad_x);
ASSAY_FORMULA(layernorm_grad_params);
ASSAY_FORMULA(rmsnorm);
ASSAY_FORMULA(rmsnorm_grad_x);
ASSAY_FORMULA(rmsnorm_grad_gamma);

}  // namespace assay::rounded
