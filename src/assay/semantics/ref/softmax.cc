// softmax softmax_grad cross_entropy cross_entropy_grad by definition (docs/NUMERICS.md, section 5).
#include <bit>

#include "assay/numerics/functions.h"
#include "assay/numerics/reduce.h"
#include "assay/ops/rules.h"
#include "assay/semantics/ref/ref.h"
#include "assay/semantics/ref/rows.h"

namespace assay::ref {
namespace {

using numerics::Scalar;

struct RowStats {
  float max;
  float sum;  // of exp(x - max)
};

RowStats StatsOf(const float* x, std::int64_t n) {
  float m = x[0];
  for (std::int64_t i = 1; i < n; ++i) m = numerics::Scalar::Max(m, x[i]);
  return {m, numerics::RowSum(n, [&](std::int64_t i) { return numerics::Exp<Scalar>(x[i] - m); })};
}

}  // namespace

void Ref_softmax(const KernelArgs& args, int, Range range) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  ForEachRow(range, n, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    const float* x = args.In<float>(0) + row * n;
    float* y = args.Out<float>(0) + row * n;
    const RowStats stats = StatsOf(x, n);
    for (std::int64_t i = begin; i < end; ++i) y[i] = numerics::Exp<Scalar>(x[i] - stats.max) / stats.sum;
  });
}

void Ref_softmax_grad(const KernelArgs& args, int, Range range) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  ForEachRow(range, n, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    const float* y = args.In<float>(0) + row * n;
    const float* dy = args.In<float>(1) + row * n;
    float* dx = args.Out<float>(0) + row * n;
    const float d = numerics::RowDot(n, [&](std::int64_t i) { return y[i]; }, [&](std::int64_t i) { return dy[i]; });
    for (std::int64_t i = begin; i < end; ++i) dx[i] = y[i] * (dy[i] - d);
  });
}

void Ref_cross_entropy(const KernelArgs& args, int output, Range range) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  for (std::int64_t row = range.begin; row < range.end; ++row) {
    const float* x = args.In<float>(0) + row * n;
    const RowStats stats = StatsOf(x, n);
    const float lse = stats.max + numerics::Log<Scalar>(stats.sum);
    if (output == 1) {
      out[row] = lse;
      continue;
    }
    const std::int32_t target = args.In<std::int32_t>(1)[row];
    if (target == -1) {
      out[row] = 0.0f;
    } else if (target < 0 || target >= n) {
      out[row] = std::bit_cast<float>(numerics::kCanonicalNan);
    } else {
      out[row] = lse - x[target];
    }
  }
}

void Ref_cross_entropy_grad(const KernelArgs& args, int, Range range) {
  const std::int64_t n = ops::LastAxisView(args.in_type(0)).cols;
  ForEachRow(range, n, [&](std::int64_t row, std::int64_t begin, std::int64_t end) {
    const float* x = args.In<float>(0) + row * n;
    float* dx = args.Out<float>(0) + row * n;
    const std::int32_t target = args.In<std::int32_t>(1)[row];
    const float lse = args.In<float>(2)[row];
    const float dloss = args.In<float>(3)[row];
    for (std::int64_t i = begin; i < end; ++i) {
      if (target == -1) {
        dx[i] = 0.0f;
      } else if (target < 0 || target >= n) {
        dx[i] = std::bit_cast<float>(numerics::kCanonicalNan);
      } else {
        dx[i] = (numerics::Exp<Scalar>(x[i] - lse) - (i == target ? 1.0f : 0.0f)) * dloss;
      }
    }
  });
}

}  // namespace assay::ref
