// batchnorm_train and batchnorm_grad: the statistics of all columns once, then the elements. Bounds are those that Near has for the same formulas, written out where there are many of them.
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "assay/backend/openblas/context.h"
#include "assay/backend/openblas/put.h"
#include "assay/ops/rules.h"
#include "assay/semantics/rounded/batchnorm_elements.h"
#include "assay/semantics/rounded/column_sum.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {
namespace {

using numerics::kUnit;

// Columns handed to a thread at a time; a multiple of what a cache line holds.
constexpr std::int64_t kColumns = 16;

bool WantsAny(std::span<const Output> outputs, const KernelArgs& args) {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (outputs[k].WantsBounds(0, args.out_type(k).elements())) return true;
  }
  return false;
}

std::int64_t ColumnShare(std::int64_t cols, const ThreadPool& pool) {
  const std::int64_t share = (cols + pool.threads() - 1) / pool.threads();
  return std::min(kColumnPiece, (share + kColumns - 1) / kColumns * kColumns);
}

double DepthOf(std::int64_t rows) { return rows == 1 ? 0.0 : numerics::SumDepth(rows); }

// Column sums of a matrix of binary32 values.
template <class T>
void SumColumns(const float* x, const ops::MatrixView& view, Range columns, T* out) {
  const auto value = [&](std::int64_t r, std::int64_t c) { return double{x[r * view.cols + c]}; };
  if constexpr (std::is_same_v<T, double>) {
    ColumnSums(view.rows, columns, value, out);
  } else {
    const auto term = [&](std::int64_t r, std::int64_t c) { return Pair{value(r, c), std::fabs(value(r, c))}; };
    ColumnPairs<true>(view.rows, columns, term, [&](std::int64_t c, const Pair& sum, double least) {
      out[c - columns.begin] = T(sum.v, numerics::SumError(DepthOf(view.rows), 0, sum.w, numerics::QuantumOf(least)));
    });
  }
}

// Sums of (x - mean)². With d = x - mean and a bound m on the mean's error, d is off by m + u|d|, its square by 2|d|(m + u|d|) + 3(m + u|d|)² + u d², which add up to
// 2m Σ|d| + 3u Σd² + 3n m² but for terms that are smaller by a factor of u.
template <class T>
void SumSquares(const float* x, const ops::MatrixView& view, Range columns, const T* mean, T* out) {
  const auto difference = [&](std::int64_t r, std::int64_t c) {
    return double{x[r * view.cols + c]} - numerics::ToDouble(mean[c - columns.begin]);
  };
  if constexpr (std::is_same_v<T, double>) {
    const auto square = [&](std::int64_t r, std::int64_t c) { return difference(r, c) * difference(r, c); };
    ColumnSums(view.rows, columns, square, out);
  } else {
    const auto term = [&](std::int64_t r, std::int64_t c) {
      const double d = difference(r, c);
      return Pair{d * d, std::fabs(d)};
    };
    ColumnPairs<false>(view.rows, columns, term, [&](std::int64_t c, const Pair& sum, double) {
      const double m = mean[c - columns.begin].e;
      const double e = 2 * m * sum.w + 3 * kUnit * sum.v + 3 * static_cast<double>(view.rows) * m * m;
      out[c - columns.begin] = T(sum.v, numerics::SumError(DepthOf(view.rows), e, sum.v, 0));
    });
  }
}

// Sums of dy · h with h = (x - mean) · rstd, all binary32: three roundings, so that a term is off by three units of itself.
template <class T, class Term>
void SumProducts(std::int64_t rows, Range columns, const Term& product, T* out) {
  if constexpr (std::is_same_v<T, double>) {
    ColumnSums(rows, columns, product, out);
  } else {
    const auto term = [&](std::int64_t r, std::int64_t c) {
      const double t = product(r, c);
      return Pair{t, std::fabs(t)};
    };
    ColumnPairs<false>(rows, columns, term, [&](std::int64_t c, const Pair& sum, double) {
      out[c - columns.begin] = T(sum.v, numerics::SumError(DepthOf(rows), 3 * kUnit * sum.w, sum.w, 0));
    });
  }
}

// Calls body(i, c, n, y, e) for elements [i, i + n) in columns [c, c + n) of a matrix with `cols` columns; e is null where no bounds are wanted.
template <class Body>
void PutElements(std::int64_t n, std::int64_t cols, const Output& output, ThreadPool& pool, const Body& body) {
  pool.ParallelFor(n, 4 * kPutBlock, [&](std::int64_t begin, std::int64_t end, int) {
    std::array<double, kPutBlock> y, e;
    for (std::int64_t first = begin; first < end; first += kPutBlock) {
      const std::int64_t count = std::min(kPutBlock, end - first);
      const bool wanted = output.WantsBounds(first, first + count);
      for (std::int64_t at = 0; at < count;) {
        const std::int64_t c = (first + at) % cols, run = std::min(cols - c, count - at);
        body(first + at, c, run, y.data() + at, wanted ? e.data() + at : nullptr);
        at += run;
      }
      output.Put(y.data(), wanted ? e.data() : nullptr, count, first);
    }
  });
}

// The columns' constants, values and bounds apart.
struct Constants {
  explicit Constants(std::size_t n) : v(n), e(n) {}
  void Set(std::size_t c, double value) { v[c] = value; }
  void Set(std::size_t c, const Near& value) {
    v[c] = value.v;
    e[c] = value.e;
  }
  std::vector<double> v, e;
};

template <class T>
void Train(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float* x = args.In<float>(0);
  const T eps(args.attrs().Float(0)), count = Count<T>(view.rows);
  const auto size = static_cast<std::size_t>(view.cols);
  std::vector<T> mean(size), var(size), rstd(size);
  Constants of_mean(size), factor(size);
  context.pool().ParallelFor(view.cols, ColumnShare(view.cols, context.pool()), [&](std::int64_t begin, std::int64_t end, int) {
    T *m = mean.data() + begin, *s = var.data() + begin;
    SumColumns(x, view, {begin, end}, m);
    for (std::int64_t c = 0; c < end - begin; ++c) m[c] = m[c] / count;
    SumSquares(x, view, {begin, end}, m, s);
    for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c) {
      var[c] = var[c] / count;
      rstd[c] = Rsqrt(var[c] + eps);
      of_mean.Set(c, mean[c]);
      factor.Set(c, T(args.In<float>(1)[c]) * rstd[c]);
    }
  });
  const float* beta = args.In<float>(2);
  const auto elements = [&](std::int64_t i, std::int64_t c, std::int64_t n, double* y, double* e) {
    const TrainElements from{.x = x + i,
                             .beta = beta + c,
                             .mean = of_mean.v.data() + c,
                             .mean_error = of_mean.e.data() + c,
                             .factor = factor.v.data() + c,
                             .factor_error = factor.e.data() + c};
    ComputeElements(from, n, y, e);
  };
  PutElements(view.rows * view.cols, view.cols, outputs[0], context.pool(), elements);
  PutAll(outputs[1], mean.data(), view.cols, 0);
  PutAll(outputs[2], var.data(), view.cols, 0);
  PutAll(outputs[3], rstd.data(), view.cols, 0);
}

template <class T>
void Grad(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float *x = args.In<float>(0), *gamma = args.In<float>(1), *mean = args.In<float>(2), *rstd = args.In<float>(3);
  const float* dy = args.In<float>(4);
  const auto size = static_cast<std::size_t>(view.cols);
  std::vector<T> dgamma(size), dbeta(size);
  Constants of_gamma(size), of_beta(size), factor(size);  // the factor is exact
  const T count = Count<T>(view.rows);
  context.pool().ParallelFor(view.cols, ColumnShare(view.cols, context.pool()), [&](std::int64_t begin, std::int64_t end, int) {
    const auto product = [&](std::int64_t r, std::int64_t c) {
      const std::int64_t i = r * view.cols + c;
      return dy[i] * ((double{x[i]} - mean[c]) * rstd[c]);
    };
    SumProducts(view.rows, {begin, end}, product, dgamma.data() + begin);
    SumColumns(dy, view, {begin, end}, dbeta.data() + begin);
    for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c) {
      of_gamma.Set(c, dgamma[c] / count);
      of_beta.Set(c, dbeta[c] / count);
      factor.Set(c, T(gamma[c]) * T(rstd[c]));
    }
  });
  const auto elements = [&](std::int64_t i, std::int64_t c, std::int64_t n, double* y, double* e) {
    const GradElements from{.x = x + i,
                            .dy = dy + i,
                            .mean = mean + c,
                            .rstd = rstd + c,
                            .of_gamma = of_gamma.v.data() + c,
                            .of_gamma_error = of_gamma.e.data() + c,
                            .of_beta = of_beta.v.data() + c,
                            .of_beta_error = of_beta.e.data() + c,
                            .factor = factor.v.data() + c};
    ComputeElements(from, n, y, e);
  };
  PutElements(view.rows * view.cols, view.cols, outputs[0], context.pool(), elements);
  PutAll(outputs[1], dgamma.data(), view.cols, 0);
  PutAll(outputs[2], dbeta.data(), view.cols, 0);
}

}  // namespace

void Run_batchnorm_train(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  WantsAny(outputs, args) ? Train<Near>(args, outputs, context) : Train<double>(args, outputs, context);
}

void Run_batchnorm_grad(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  WantsAny(outputs, args) ? Grad<Near>(args, outputs, context) : Grad<double>(args, outputs, context);
}

}  // namespace assay::rounded
