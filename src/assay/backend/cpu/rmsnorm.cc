// Kernels of rmsnorm and its gradients. A row stays in cache for all its passes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/rmsnorm.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/columns-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/rows-inl.h"
#include "assay/ops/rules.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {
using namespace rows;  // NOLINT

}  // namespace

void Run_rmsnorm(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  const auto count = static_cast<float>(n);
  const float eps = args.attrs().Float(0);
  const float* gamma = args.In<float>(1);
  context.pool().ParallelFor(view.rows, Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = args.In<float>(0) + row * n;
      float* y = args.Out<float>(0) + row * n;
      const float squares = Reduce(n, [&](F* acc, std::int64_t i, auto io) HWY_ATTR {
        const F v = io.Load(x + i);
        acc[0] = S::Fma(v, v, acc[0]);
      });
      const float rstd = numerics::Rsqrt<numerics::Scalar>(squares / count + eps);
      const F rstds = S::Set(rstd);
      ForEachVector(n, [&](std::int64_t i, auto io) HWY_ATTR {
        io.Store(S::Canonical(S::Mul(S::Mul(io.Load(x + i), rstds), io.Load(gamma + i))), y + i);
      });
      args.Out<float>(1)[row] = numerics::CanonicalNan(rstd);
    }
  });
}

void Run_rmsnorm_grad_x(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  const float* gamma = args.In<float>(1);
  context.pool().ParallelFor(view.rows, Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = args.In<float>(0) + row * n;
      const F rstd = S::Set(args.In<float>(2)[row]);
      const float* dy = args.In<float>(3) + row * n;
      float* dx = args.Out<float>(0) + row * n;
      const float dot = Reduce(n, [&](F* acc, std::int64_t i, auto io) HWY_ATTR {
        acc[0] = S::Fma(S::Mul(io.Load(dy + i), io.Load(gamma + i)), S::Mul(io.Load(x + i), rstd), acc[0]);
      });
      const F b = S::Set(dot / static_cast<float>(n));
      ForEachVector(n, [&](std::int64_t i, auto io) HWY_ATTR {
        const F g = S::Mul(io.Load(dy + i), io.Load(gamma + i));
        io.Store(S::Canonical(S::Mul(rstd, S::NegFma(S::Mul(io.Load(x + i), rstd), b, g))), dx + i);
      });
    }
  });
}

void Run_rmsnorm_grad_gamma(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  const float* x = args.In<float>(0);
  const float* rstd = args.In<float>(1);
  const float* dy = args.In<float>(2);
  const float* sums = columns::Reduce<1>(context, view.rows, n, [&](std::int64_t c, auto io) HWY_ATTR {
    return [=](F* acc, std::int64_t row) HWY_ATTR {
      acc[0] = S::Fma(io.Load(dy + row * n + c), S::Mul(io.Load(x + row * n + c), S::Set(rstd[row])), acc[0]);
    };
  });
  columns::StoreCanonical(sums, n, args.Out<float>(0));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
