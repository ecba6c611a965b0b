// batchnorm_train and batchnorm_grad: the statistics of all columns once, then the elements.
#include <array>
#include <vector>

#include "assay/backend/vendor/column_sum.h"
#include "assay/backend/vendor/context.h"
#include "assay/backend/vendor/formula_loops.h"
#include "assay/backend/vendor/put.h"
#include "assay/ops/rules.h"

namespace assay::vendor {
namespace {

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

// Elements of a matrix with `cols` columns by element(i, c), which gives T or, as well, double.
template <class T, class Element>
void PutElements(std::int64_t n, std::int64_t cols, const Output& output, ThreadPool& pool, const Element& element) {
  pool.ParallelFor(n, 4 * kPutBlock, [&](std::int64_t begin, std::int64_t end, int) {
    std::array<T, kPutBlock> block;
    for (std::int64_t first = begin; first < end; first += kPutBlock) {
      const std::int64_t count = std::min(kPutBlock, end - first);
      std::int64_t c = first % cols;
      for (std::int64_t i = 0; i < count; ++i) {
        block[static_cast<std::size_t>(i)] = element(first + i, c);
        if (++c == cols) c = 0;
      }
      PutAll(output, block.data(), count, first);
    }
  });
}

template <class T>
void Train(const KernelArgs& args, std::span<const Output> outputs, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const float* x = args.In<float>(0);
  const T eps(args.attrs().Float(0)), count = Count<T>(view.rows);
  const auto size = static_cast<std::size_t>(view.cols);
  std::vector<T> mean(size), var(size), rstd(size), factor(size);
  context.pool().ParallelFor(view.cols, ColumnShare(view.cols, context.pool()), [&](std::int64_t begin, std::int64_t end, int) {
    T* m = mean.data();
    ColumnSums(view.rows, {begin, end}, [&](std::int64_t r, std::int64_t c) { return T(x[r * view.cols + c]); }, m + begin);
    for (std::int64_t c = begin; c < end; ++c) m[c] = m[c] / count;
    const auto square = [&](std::int64_t r, std::int64_t c) {
      const T d = T(x[r * view.cols + c]) - m[c];
      return d * d;
    };
    ColumnSums(view.rows, {begin, end}, square, var.data() + begin);
    for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c) {
      var[c] = var[c] / count;
      rstd[c] = Rsqrt(var[c] + eps);
      factor[c] = T(args.In<float>(1)[c]) * rstd[c];
    }
  });
  const float* beta = args.In<float>(2);
  PutElements<T>(view.rows * view.cols, view.cols, outputs[0], context.pool(), [&](std::int64_t i, std::int64_t c) {
    const auto at = static_cast<std::size_t>(c);
    return (T(x[i]) - mean[at]) * factor[at] + T(beta[c]);
  });
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
  std::vector<T> dgamma(size), dbeta(size), of_gamma(size), of_beta(size), factor(size);
  const T count = Count<T>(view.rows);
  const auto normalised = [&](std::int64_t i, std::int64_t c) { return (T(x[i]) - T(mean[c])) * T(rstd[c]); };
  context.pool().ParallelFor(view.cols, ColumnShare(view.cols, context.pool()), [&](std::int64_t begin, std::int64_t end, int) {
    const auto term = [&](std::int64_t r, std::int64_t c) {
      return T(dy[r * view.cols + c]) * normalised(r * view.cols + c, c);
    };
    ColumnSums(view.rows, {begin, end}, term, dgamma.data() + begin);
    ColumnSums(
        view.rows, {begin, end}, [&](std::int64_t r, std::int64_t c) { return T(dy[r * view.cols + c]); },
        dbeta.data() + begin);
    for (auto c = static_cast<std::size_t>(begin); c < static_cast<std::size_t>(end); ++c) {
      of_gamma[c] = dgamma[c] / count;
      of_beta[c] = dbeta[c] / count;
      factor[c] = T(gamma[c]) * T(rstd[c]);
    }
  });
  PutElements<T>(view.rows * view.cols, view.cols, outputs[0], context.pool(), [&](std::int64_t i, std::int64_t c) {
    const auto at = static_cast<std::size_t>(c);
    return factor[at] * (T(dy[i]) - normalised(i, c) * of_gamma[at] - of_beta[at]);
  });
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

}  // namespace assay::vendor
