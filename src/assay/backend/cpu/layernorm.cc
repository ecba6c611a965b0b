// Kernels of layernorm and its gradients. A row stays in cache for all its passes.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/layernorm.cc"
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

void Run_layernorm(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  const auto count = static_cast<float>(n);
  const float eps = args.attrs().Float(0);
  const float* gamma = args.In<float>(1);
  const float* beta = args.In<float>(2);
  context.pool().ParallelFor(view.rows, Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = args.In<float>(0) + row * n;
      float* y = args.Out<float>(0) + row * n;
      const float mean = Sum(x, n) / count;
      const F means = S::Set(mean);
      const float squares = Reduce(n, [&](F* acc, std::int64_t i, auto io) HWY_ATTR {
        const F d = S::Sub(io.Load(x + i), means);
        acc[0] = S::Fma(d, d, acc[0]);
      });
      const float rstd = numerics::Rsqrt<numerics::Scalar>(squares / count + eps);
      const F rstds = S::Set(rstd);
      ForEachVector(n, [&](std::int64_t i, auto io) HWY_ATTR {
        const F h = S::Mul(S::Sub(io.Load(x + i), means), rstds);
        io.Store(S::Canonical(S::Fma(h, io.Load(gamma + i), io.Load(beta + i))), y + i);
      });
      args.Out<float>(1)[row] = numerics::CanonicalNan(mean);
      args.Out<float>(2)[row] = numerics::CanonicalNan(rstd);
    }
  });
}

void Run_layernorm_grad_x(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  const auto count = static_cast<float>(n);
  const float* gamma = args.In<float>(1);
  context.pool().ParallelFor(view.rows, Grain(n), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t row = begin; row < end; ++row) {
      const float* x = args.In<float>(0) + row * n;
      const F mean = S::Set(args.In<float>(2)[row]);
      const F rstd = S::Set(args.In<float>(3)[row]);
      const float* dy = args.In<float>(4) + row * n;
      float* dx = args.Out<float>(0) + row * n;
      float sums[2];
      Reduce<2>(
          n,
          [&](F* acc, std::int64_t i, auto io) HWY_ATTR {
            const F g = S::Mul(io.Load(dy + i), io.Load(gamma + i));
            const F h = S::Mul(S::Sub(io.Load(x + i), mean), rstd);
            acc[0] = S::Add(acc[0], g);
            acc[1] = S::Fma(g, h, acc[1]);
          },
          sums);
      const F a = S::Set(sums[0] / count);
      const F b = S::Set(sums[1] / count);
      ForEachVector(n, [&](std::int64_t i, auto io) HWY_ATTR {
        const F g = S::Mul(io.Load(dy + i), io.Load(gamma + i));
        const F h = S::Mul(S::Sub(io.Load(x + i), mean), rstd);
        io.Store(S::Canonical(S::Mul(rstd, S::Sub(S::NegFma(h, b, g), a))), dx + i);
      });
    }
  });
}

void Run_layernorm_grad_params(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  const float* x = args.In<float>(0);
  const float* mean = args.In<float>(1);
  const float* rstd = args.In<float>(2);
  const float* dy = args.In<float>(3);
  const float* sums = columns::Reduce<2>(context, view.rows, n, [&](std::int64_t c, auto io) HWY_ATTR {
    return [=](F* acc, std::int64_t row) HWY_ATTR {
      const F d = io.Load(dy + row * n + c);
      const F h = S::Mul(S::Sub(io.Load(x + row * n + c), S::Set(mean[row])), S::Set(rstd[row]));
      acc[0] = S::Fma(d, h, acc[0]);
      acc[1] = S::Add(acc[1], d);
    };
  });
  columns::StoreCanonical(sums, n, args.Out<float>(0));
  columns::StoreCanonical(sums + n, n, args.Out<float>(1));
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
