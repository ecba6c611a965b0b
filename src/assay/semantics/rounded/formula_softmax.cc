// softmax softmax_grad cross_entropy cross_entropy_grad. The maximum of a row is one of its binary32 elements, so that it is exact.
#include <limits>
#include <vector>

#include "assay/numerics/scalar.h"
#include "assay/ops/rules.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {
namespace {

float RowMax(const float* x, std::int64_t n) {
  float m = x[0];
  for (std::int64_t i = 1; i < n; ++i) m = numerics::Scalar::Max(m, x[i]);
  return m;
}

template <class T>
T NotANumber() {
  return T(std::numeric_limits<float>::quiet_NaN());
}

// The logarithm of the sum of exp(x).
template <class T>
T LogSumExp(const float* x, std::int64_t n) {
  const T m(RowMax(x, n));
  return m + Log(Sum<T>(n, [&](std::int64_t i) { return Exp(T(x[i]) - m); }));
}

}  // namespace

template <class T>
void Formula_softmax(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  std::vector<T> e(static_cast<std::size_t>(n));
  ForEachRow(range, n, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* y) {
    const float* x = args.In<float>(0) + row * n;
    const T m(RowMax(x, n));
    for (std::int64_t i = 0; i < n; ++i) e[static_cast<std::size_t>(i)] = Exp(T(x[i]) - m);
    const T sum = Sum<T>(n, [&](std::int64_t i) { return e[static_cast<std::size_t>(i)]; });
    for (std::int64_t i = begin; i < end; ++i) y[i - begin] = e[static_cast<std::size_t>(i)] / sum;
  });
}

template <class T>
void Formula_softmax_grad(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  ForEachRow(range, n, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* dx) {
    const float* y = args.In<float>(0) + row * n;
    const float* dy = args.In<float>(1) + row * n;
    const T d = Sum<T>(n, [&](std::int64_t i) { return T(y[i]) * T(dy[i]); });
    for (std::int64_t i = begin; i < end; ++i) dx[i - begin] = T(y[i]) * (T(dy[i]) - d);
  });
}

template <class T>
void Formula_cross_entropy(const KernelArgs& args, int output, Range range, T* out) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const float* x = args.In<float>(0) + row * n;
    T& y = out[row - range.begin];
    if (output == 1) {
      y = LogSumExp<T>(x, n);
      continue;
    }
    const std::int32_t target = args.In<std::int32_t>(1)[row];
    if (target == -1) {
      y = T(0.0f);
    } else if (target < 0 || target >= n) {
      y = NotANumber<T>();
    } else {
      y = LogSumExp<T>(x, n) - T(x[target]);
    }
  }
}

template <class T>
void Formula_cross_entropy_grad(const KernelArgs& args, int, Range range, T* out) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  ForEachRow(range, n, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* dx) {
    const float* x = args.In<float>(0) + row * n;
    const std::int32_t target = args.In<std::int32_t>(1)[row];
    if (target < 0 || target >= n) {
      std::fill(dx, dx + (end - begin), target == -1 ? T(0.0f) : NotANumber<T>());
      return;
    }
    const T lse(args.In<float>(2)[row]), dloss(args.In<float>(3)[row]);
    for (std::int64_t i = begin; i < end; ++i) {
      const T p = Exp(T(x[i]) - lse);
      dx[i - begin] = (i == target ? p - T(1.0f) : p) * dloss;
    }
  });
}

ASSAY_FORMULA(softmax);
ASSAY_FORMULA(softmax_grad);
ASSAY_FORMULA(cross_entropy);
ASSAY_FORMULA(cross_entropy_grad);

}  // namespace assay::rounded
