// Kernels of batch normalisation: three passes over x forward (sum, squares, result), two over x and dy backward.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/batchnorm.cc"
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
using columns::Direction;

// Room for the sums of N column reductions and for `extra` rows of the caller's behind them.
template <int N>
struct ColumnScratch {
  float* sums;
  float* extra;

  ColumnScratch(Context& context, ops::MatrixView view, std::int64_t extra_rows) {
    const std::int64_t floats = columns::ScratchFloats<N>(view.rows, view.cols);
    const std::int64_t all = floats + extra_rows * view.cols;
    sums = static_cast<float*>(context.Scratch(Context::kShared, static_cast<std::size_t>(all) * sizeof(float)));
    extra = sums + floats;
  }
};

// y = fma(x - mean, a, beta).
HWY_INLINE void Apply(Context& context, ops::MatrixView view, const float* x, const float* mean, const float* a,
                      const float* beta, float* y) {
  const std::int64_t n = view.cols;
  columns::ForEachRow(context, view.rows, n, y, [=](std::int64_t c, auto io) HWY_ATTR {
    const F means = io.Load(mean + c);
    const F as = io.Load(a + c);
    const F betas = io.Load(beta + c);
    return [=](std::int64_t row) HWY_ATTR {
      const std::int64_t i = row * n + c;
      io.Store(S::Canonical(S::Fma(S::Sub(io.Load(x + i), means), as, betas)), y + i);
    };
  });
}

}  // namespace

void Run_batchnorm_train(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  const F count = S::Set(static_cast<float>(view.rows));
  const F eps = S::Set(args.attrs().Float(0));
  const float* x = args.In<float>(0);
  const float* gamma = args.In<float>(1);
  float* mean = args.Out<float>(1);
  float* var = args.Out<float>(2);
  float* rstd = args.Out<float>(3);
  const ColumnScratch<1> scratch(context, view, 1);
  float* a = scratch.extra;

  columns::Reduce<1>(
      context, view.rows, n,
      [=](std::int64_t c, auto io)
          HWY_ATTR { return [=](F* acc, std::int64_t row) HWY_ATTR { acc[0] = S::Add(acc[0], io.Load(x + row * n + c)); }; },
      scratch.sums);
  ForEachVector(
      n, [&](std::int64_t c, auto io) HWY_ATTR { io.Store(S::Canonical(S::Div(io.Load(scratch.sums + c), count)), mean + c); });

  columns::Reduce<1>(
      context, view.rows, n,
      [=](std::int64_t c, auto io) HWY_ATTR {
        const F means = io.Load(mean + c);
        return [=](F* acc, std::int64_t row) HWY_ATTR {
          const F d = S::Sub(io.Load(x + row * n + c), means);
          acc[0] = S::Fma(d, d, acc[0]);
        };
      },
      scratch.sums, Direction::kUp);
  ForEachVector(n, [&](std::int64_t c, auto io) HWY_ATTR {
    const F v = S::Div(io.Load(scratch.sums + c), count);
    const F r = nm::Rsqrt<S>(S::Add(v, eps));
    io.Store(S::Canonical(v), var + c);
    io.Store(S::Canonical(r), rstd + c);
    io.Store(S::Mul(io.Load(gamma + c), r), a + c);
  });

  Apply(context, view, x, mean, a, args.In<float>(2), args.Out<float>(0));
}

void Run_batchnorm_infer(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const F eps = S::Set(args.attrs().Float(0));
  auto* a = static_cast<float*>(context.Scratch(Context::kShared, static_cast<std::size_t>(view.cols) * sizeof(float)));
  ForEachVector(view.cols, [&](std::int64_t c, auto io) HWY_ATTR {
    const F r = nm::Rsqrt<S>(S::Add(io.Load(args.In<float>(4) + c), eps));
    io.Store(S::Mul(io.Load(args.In<float>(1) + c), r), a + c);
  });
  Apply(context, view, args.In<float>(0), args.In<float>(3), a, args.In<float>(2), args.Out<float>(0));
}

void Run_batchnorm_grad(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const std::int64_t n = view.cols;
  const F count = S::Set(static_cast<float>(view.rows));
  const float* x = args.In<float>(0);
  const float* gamma = args.In<float>(1);
  const float* mean = args.In<float>(2);
  const float* rstd = args.In<float>(3);
  const float* dy = args.In<float>(4);
  float* dx = args.Out<float>(0);
  const ColumnScratch<2> scratch(context, view, 3);
  float* mean_dgamma = scratch.extra;
  float* mean_dbeta = scratch.extra + n;
  float* a = scratch.extra + 2 * n;

  columns::Reduce<2>(
      context, view.rows, n,
      [=](std::int64_t c, auto io) HWY_ATTR {
        const F means = io.Load(mean + c);
        const F rstds = io.Load(rstd + c);
        return [=](F* acc, std::int64_t row) HWY_ATTR {
          const F d = io.Load(dy + row * n + c);
          acc[0] = S::Fma(d, S::Mul(S::Sub(io.Load(x + row * n + c), means), rstds), acc[0]);
          acc[1] = S::Add(acc[1], d);
        };
      },
      scratch.sums);
  ForEachVector(n, [&](std::int64_t c, auto io) HWY_ATTR {
    const F dgamma = io.Load(scratch.sums + c);
    const F dbeta = io.Load(scratch.sums + n + c);
    io.Store(S::Canonical(dgamma), args.Out<float>(1) + c);
    io.Store(S::Canonical(dbeta), args.Out<float>(2) + c);
    io.Store(S::Div(dgamma, count), mean_dgamma + c);
    io.Store(S::Div(dbeta, count), mean_dbeta + c);
    io.Store(S::Mul(io.Load(gamma + c), io.Load(rstd + c)), a + c);
  });

  columns::ForEachRow(
      context, view.rows, n, dx,
      [=](std::int64_t c, auto io) HWY_ATTR {
        const F means = io.Load(mean + c);
        const F rstds = io.Load(rstd + c);
        const F dgammas = io.Load(mean_dgamma + c);
        const F dbetas = io.Load(mean_dbeta + c);
        const F as = io.Load(a + c);
        return [=](std::int64_t row) HWY_ATTR {
          const std::int64_t i = row * n + c;
          const F h = S::Mul(S::Sub(io.Load(x + i), means), rstds);
          io.Store(S::Canonical(S::Mul(as, S::Sub(S::NegFma(h, dgammas, io.Load(dy + i)), dbetas))), dx + i);
        };
      },
      Direction::kUp);
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
