// Kernels of softmax and cross-entropy. A row is read from memory once and stays in cache for its further passes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/softmax.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <bit>

#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/rows-inl.h"
#include "assay/ops/rules.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {
using namespace rows;  // NOLINT

void Fill(float* out, std::int64_t n, float value) { std::fill(out, out + n, value); }

}  // namespace

void Run_softmax(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  context.pool().ParallelFor(view.rows, Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = args.In<float>(0) + row * n;
      float* y = args.Out<float>(0) + row * n;
      const F m = S::Set(LooseMax(x, n));
      const F sum = S::Set(Reduce(n, [&](F* acc, std::int64_t i, auto io) HWY_ATTR {
        const F e = nm::Exp<S>(S::Sub(io.Load(x + i), m));
        io.Store(e, y + i);
        acc[0] = S::Add(acc[0], e);
      }));
      ForEachVector(n, [&](std::int64_t i, auto io) HWY_ATTR { io.Store(S::Canonical(S::Div(io.Load(y + i), sum)), y + i); });
    }
  });
}

void Run_softmax_grad(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  context.pool().ParallelFor(view.rows, Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* y = args.In<float>(0) + row * n;
      const float* dy = args.In<float>(1) + row * n;
      float* dx = args.Out<float>(0) + row * n;
      const F d = S::Set(Reduce(
          n, [&](F* acc, std::int64_t i, auto io) HWY_ATTR { acc[0] = S::Fma(io.Load(y + i), io.Load(dy + i), acc[0]); }));
      ForEachVector(n, [&](std::int64_t i, auto io)
                           HWY_ATTR { io.Store(S::Canonical(S::Mul(io.Load(y + i), S::Sub(io.Load(dy + i), d))), dx + i); });
    }
  });
}

void Run_cross_entropy(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  context.pool().ParallelFor(view.rows, Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = args.In<float>(0) + row * n;
      const float max = LooseMax(x, n);
      const F m = S::Set(max);
      const float sum = Reduce(
          n, [&](F* acc, std::int64_t i, auto io) HWY_ATTR { acc[0] = S::Add(acc[0], nm::Exp<S>(S::Sub(io.Load(x + i), m))); });
      const float lse = max + numerics::Log<numerics::Scalar>(sum);
      const std::int32_t target = args.In<std::int32_t>(1)[row];
      float loss = std::bit_cast<float>(numerics::kCanonicalNan);
      if (target == -1) loss = 0.0f;
      if (target >= 0 && target < n) loss = lse - x[target];
      args.Out<float>(0)[row] = numerics::CanonicalNan(loss);
      args.Out<float>(1)[row] = numerics::CanonicalNan(lse);
    }
  });
}

void Run_cross_entropy_grad(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  context.pool().ParallelFor(view.rows, Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = args.In<float>(0) + row * n;
      float* dx = args.Out<float>(0) + row * n;
      const std::int32_t target = args.In<std::int32_t>(1)[row];
      if (target < 0 || target >= n) {
        Fill(dx, n, target == -1 ? 0.0f : std::bit_cast<float>(numerics::kCanonicalNan));
        continue;
      }
      const float lse = args.In<float>(2)[row];
      const float dloss = args.In<float>(3)[row];
      const F lses = S::Set(lse);
      const F dlosses = S::Set(dloss);
      ForEachVector(n, [&](std::int64_t i, auto io) HWY_ATTR {
        io.Store(S::Canonical(S::Mul(nm::Exp<S>(S::Sub(io.Load(x + i), lses)), dlosses)), dx + i);
      });
      const float p = numerics::Exp<numerics::Scalar>(x[target] - lse);
      dx[target] = numerics::CanonicalNan((p - 1.0f) * dloss);
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
