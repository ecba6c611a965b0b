// batchnorm_train batchnorm_infer batchnorm_grad by definition (docs/NUMERICS.md, section 5).
#include <cmath>
#include <optional>
#include <vector>

#include "assay/numerics/fma.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/reduce.h"
#include "assay/ops/rules.h"
#include "assay/semantics/ref/ref.h"
#include "assay/semantics/ref/rows.h"

namespace assay::ref {
namespace {

using numerics::Scalar;

struct ColumnStats {
  float mean;
  float var;
  float rstd;
};

ColumnStats StatsOf(const float* x, ops::MatrixView view, std::int64_t c, float eps) {
  const auto count = static_cast<float>(view.rows);
  const float mean = numerics::ColSum(view.rows, [&](std::int64_t r) { return x[r * view.cols + c]; }) / count;
  const auto d = [&](std::int64_t r) { return x[r * view.cols + c] - mean; };
  const float var = numerics::ColDot(view.rows, d, d) / count;
  return {mean, var, numerics::Rsqrt<Scalar>(var + eps)};
}

struct ColumnGradients {
  float dgamma;
  float dbeta;
};

// Values of a column, computed when the first element that needs them is met.
template <class T>
class PerColumn {
 public:
  explicit PerColumn(std::int64_t cols) : values_(static_cast<std::size_t>(cols)) {}
  template <class Compute>
  const T& Get(std::int64_t c, Compute compute) {
    std::optional<T>& value = values_[static_cast<std::size_t>(c)];
    if (!value) value = compute();
    return *value;
  }

 private:
  std::vector<std::optional<T>> values_;
};

}  // namespace

void Ref_batchnorm_train(const KernelArgs& args, int output, Range range) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float eps = args.attrs().Float(0);
  const float* x = args.In<float>(0);
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  if (output != 0) {
    for (std::int64_t c = range.begin; c < range.end; ++c) {
      const ColumnStats stats = StatsOf(x, view, c, eps);
      out[c] = output == 1 ? stats.mean : output == 2 ? stats.var : stats.rstd;
    }
    return;
  }
  const float* gamma = args.In<float>(1);
  const float* beta = args.In<float>(2);
  PerColumn<ColumnStats> columns(view.cols);
  ForEachRow(range, view.cols, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const ColumnStats& stats = columns.Get(c, [&] { return StatsOf(x, view, c, eps); });
      const std::int64_t i = row * view.cols + c;
      out[i] = numerics::Fma(x[i] - stats.mean, gamma[c] * stats.rstd, beta[c]);
    }
  });
}

void Ref_batchnorm_infer(const KernelArgs& args, int, Range range) {
  const std::int64_t cols = ops::LastAxisView(args.in_type(0)).cols;
  const float eps = args.attrs().Float(0);
  const float* x = args.In<float>(0);
  ForEachRow(range, cols, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const float rstd = numerics::Rsqrt<Scalar>(args.In<float>(4)[c] + eps);
      const std::int64_t i = row * cols + c;
      args.Out<float>(0)[i] = numerics::Fma(x[i] - args.In<float>(3)[c], args.In<float>(1)[c] * rstd, args.In<float>(2)[c]);
    }
  });
}

void Ref_batchnorm_grad(const KernelArgs& args, int output, Range range) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const auto count = static_cast<float>(view.rows);
  const float* x = args.In<float>(0);
  const float* gamma = args.In<float>(1);
  const float* mean = args.In<float>(2);
  const float* rstd = args.In<float>(3);
  const float* dy = args.In<float>(4);
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  const auto dbeta = [&](std::int64_t c) {
    return numerics::ColSum(view.rows, [&](std::int64_t r) { return dy[r * view.cols + c]; });
  };
  const auto dgamma = [&](std::int64_t c) {
    return numerics::ColDot(
        view.rows, [&](std::int64_t r) { return dy[r * view.cols + c]; },
        [&](std::int64_t r) { return (x[r * view.cols + c] - mean[c]) * rstd[c]; });
  };
  if (output != 0) {
    for (std::int64_t c = range.begin; c < range.end; ++c) out[c] = output == 1 ? dgamma(c) : dbeta(c);
    return;
  }
  PerColumn<ColumnGradients> columns(view.cols);
  ForEachRow(range, view.cols, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      const ColumnGradients& grads = columns.Get(c, [&] { return ColumnGradients{dgamma(c), dbeta(c)}; });
      const std::int64_t i = row * view.cols + c;
      const float h = (x[i] - mean[c]) * rstd[c];
      out[i] = (gamma[c] * rstd[c]) * (numerics::Fma(-h, grads.dgamma / count, dy[i]) - grads.dbeta / count);
    }
  });
}

}  // namespace assay::ref
