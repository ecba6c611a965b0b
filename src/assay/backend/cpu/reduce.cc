// Kernels of the reductions: row_sum col_sum row_max row_max_grad sum_squares clip_scale.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/reduce.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <cmath>

#include "assay/backend/cpu/columns-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/rows-inl.h"
#include "assay/ops/rules.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {
using namespace rows;  // NOLINT

ops::MatrixView View(const KernelArgs& args) { return ops::SplitView(args.in_type(0), args.attrs().Int(0)); }

// Reduces each row of n terms at x; take(acc, x) adds a vector. Long rows are shared out piece by piece.
template <class Take>
HWY_INLINE void ReduceRows(Context& context, const float* x, std::int64_t row_count, std::int64_t n, float* out,
                           const Take& take) {
  const std::int64_t pieces = (n + numerics::kRowPiece - 1) / numerics::kRowPiece;
  if (pieces <= 16) {
    context.pool().ParallelFor(row_count, Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
      for (std::int64_t row = begin; row < end; ++row) {
        const float* terms = x + row * n;
        out[row] = numerics::CanonicalNan(
            Reduce(n, [&](F* acc, std::int64_t i, auto io) HWY_ATTR { acc[0] = take(acc[0], io.Load(terms + i)); }));
      }
    });
    return;
  }
  auto* sums =
      static_cast<float*>(context.Scratch(Context::kShared, static_cast<std::size_t>(row_count * pieces) * sizeof(float)));
  context.pool().ParallelFor(row_count * pieces, 16, [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t task = begin; task < end; ++task) {
      const float* terms = x + task / pieces * n;
      const std::int64_t first = task % pieces * numerics::kRowPiece;
      ReducePiece<1>(
          first, std::min(numerics::kRowPiece, n - first),
          [&](F* acc, std::int64_t i, auto io) HWY_ATTR { acc[0] = take(acc[0], io.Load(terms + i)); }, sums + task);
    }
  });
  for (std::int64_t row = 0; row < row_count; ++row) out[row] = numerics::CanonicalNan(Sum(sums + row * pieces, pieces));
}

// In the order of the contract: 32 lanes, then the lanes from the first on.
HWY_INLINE float ExactMax(const float* x, std::int64_t n) {
  HWY_ALIGN float lane[numerics::kRowLanes];
  std::int64_t i = std::min(n, numerics::kRowLanes);
  std::copy(x, x + i, lane);
  F m[kRegisters];
  if (i == numerics::kRowLanes) {
    for (std::int64_t r = 0; r < kRegisters; ++r) m[r] = S::Load(lane + r * kVector);
    for (; i + numerics::kRowLanes <= n; i += numerics::kRowLanes) {
#pragma GCC unroll 8
      for (std::int64_t r = 0; r < kRegisters; ++r) m[r] = S::Max(m[r], S::Load(x + i + r * kVector));
    }
    for (std::int64_t r = 0; r < kRegisters; ++r) S::Store(m[r], lane + r * kVector);
  }
  for (; i < n; ++i) lane[i % numerics::kRowLanes] = numerics::Scalar::Max(lane[i % numerics::kRowLanes], x[i]);
  float best = lane[0];
  for (std::int64_t l = 1; l < std::min(n, numerics::kRowLanes); ++l) best = numerics::Scalar::Max(best, lane[l]);
  return best;
}

}  // namespace

void Run_row_sum(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = View(args);
  ReduceRows(context, args.In<float>(0), view.rows, view.cols, args.Out<float>(0),
             [](F acc, F x) HWY_ATTR { return S::Add(acc, x); });
}

void Run_sum_squares(const KernelArgs& args, Context& context) {
  ReduceRows(context, args.In<float>(0), 1, args.in_type(0).elements(), args.Out<float>(0),
             [](F acc, F x) HWY_ATTR { return S::Fma(x, x, acc); });
}

void Run_col_sum(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = View(args);
  const float* x = args.In<float>(0);
  const float* sums = columns::Reduce<1>(context, view.rows, view.cols, [&](std::int64_t c, auto io) HWY_ATTR {
    return [=](F* acc, std::int64_t row) HWY_ATTR { acc[0] = S::Add(acc[0], io.Load(x + row * view.cols + c)); };
  });
  columns::StoreCanonical(sums, view.cols, args.Out<float>(0));
}

void Run_row_max(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = View(args);
  const float* x = args.In<float>(0);
  context.pool().ParallelFor(view.rows, Grain(view.cols), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      args.Out<float>(0)[row] = numerics::CanonicalNan(ExactMax(x + row * view.cols, view.cols));
    }
  });
}

void Run_row_max_grad(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = View(args);
  context.pool().ParallelFor(view.rows, Grain(view.cols), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = args.In<float>(0) + row * view.cols;
      float* dx = args.Out<float>(0) + row * view.cols;
      const float y = args.In<float>(1)[row];
      std::fill(dx, dx + view.cols, 0.0f);
      std::int64_t first = 0;
      if (y == y) {
        while (first < view.cols && x[first] != y) ++first;
      } else {
        while (first < view.cols && x[first] == x[first]) ++first;
      }
      if (first < view.cols) dx[first] = numerics::CanonicalNan(args.In<float>(2)[row]);
    }
  });
}

void Run_clip_scale(const KernelArgs& args, Context&) {
  float total = *args.In<float>(0);
  for (std::size_t k = 1; k < args.in.size(); ++k) total = total + *args.In<float>(k);
  const float max_norm = args.attrs().Float(0);
  const float norm = std::sqrt(total);
  *args.Out<float>(0) = numerics::CanonicalNan(norm);
  *args.Out<float>(1) = numerics::CanonicalNan(max_norm > 0.0f && norm > max_norm ? max_norm / (norm + 1e-6f) : 1.0f);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
