// rmsnorm rmsnorm_grad_x rmsnorm_grad_gamma: a row is read again for each sum, from a cache most often.
#include "assay/backend/cublas/columns-inl.h"
#include "assay/backend/cublas/rows-inl.h"
#include "assay/ops/rules.h"

namespace assay::cublas {
namespace {

using numerics::Rsqrt;

template <class T>
struct Forward {
  const float *x, *gamma;
  std::int64_t n;
  float count, eps;
  Sink y, rstds;

  template <class Team>
  __device__ void operator()(std::int64_t row, const Team& team) const {
    const float* in = x + row * n;
    const T squares = team.template Sum<T>(n, [&](std::int64_t i) { return T(__ldg(in + i)) * T(__ldg(in + i)); });
    const T rstd = Rsqrt(squares / T(count) + T(eps));
    team.ForEach(n, [&](std::int64_t i) { y.Put(row * n + i, T(__ldg(in + i)) * rstd * T(__ldg(gamma + i))); });
    if (team.leads()) rstds.Put(row, rstd);
  }
};

template <class T>
struct GradX {
  const float *x, *gamma, *rstds, *dy;
  std::int64_t n;
  float count;
  Sink dx;

  template <class Team>
  __device__ void operator()(std::int64_t row, const Team& team) const {
    const float *in = x + row * n, *gradient = dy + row * n;
    const T rstd(__ldg(rstds + row));
    const auto g = [&](std::int64_t i) { return T(__ldg(gradient + i)) * T(__ldg(gamma + i)); };
    const auto h = [&](std::int64_t i) { return T(__ldg(in + i)) * rstd; };
    const T b = team.template Sum<T>(n, [&](std::int64_t i) { return g(i) * h(i); }) / T(count);
    team.ForEach(n, [&](std::int64_t i) { dx.Put(row * n + i, rstd * (g(i) - h(i) * b)); });
  }
};

template <class T>
struct GradGamma {
  using Number = T;
  static constexpr int kSums = 1;
  struct Column {};
  const float *x, *rstds, *dy;

  __device__ Column Prepare(std::int64_t) const { return {}; }
  __device__ void Add(Accumulator<T> (&sums)[1], const Column&, std::int64_t row, std::int64_t i) const {
    sums[0].Add(T(__ldg(dy + i)) * (T(__ldg(x + i)) * T(__ldg(rstds + row))));
  }
};

template <class T>
struct PutGamma {
  Sink dgamma;
  __device__ void operator()(std::int64_t c, const T (&totals)[1]) const { dgamma.Put(c, totals[0]); }
};

template <class T>
void RunForward(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const Forward<T> op{.x = args.In<float>(0),
                      .gamma = args.In<float>(1),
                      .n = view.cols,
                      .count = static_cast<float>(view.cols),
                      .eps = args.attrs().Float(0),
                      .y = sinks[0],
                      .rstds = sinks[1]};
  LaunchRows(op, view.rows, view.cols, context, "rmsnorm");
}

template <class T>
void RunGradX(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const GradX<T> op{.x = args.In<float>(0),
                    .gamma = args.In<float>(1),
                    .rstds = args.In<float>(2),
                    .dy = args.In<float>(3),
                    .n = view.cols,
                    .count = static_cast<float>(view.cols),
                    .dx = sinks[0]};
  LaunchRows(op, view.rows, view.cols, context, "rmsnorm_grad_x");
}

template <class T>
void RunGradGamma(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const GradGamma<T> op{.x = args.In<float>(0), .rstds = args.In<float>(1), .dy = args.In<float>(2)};
  RunColumnSums(op, PutGamma<T>{sinks[0]}, view.rows, view.cols, context, "rmsnorm_grad_gamma");
}

}  // namespace

void Run_rmsnorm(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? RunForward<Near>(args, sinks, context) : RunForward<double>(args, sinks, context);
}

void Run_rmsnorm_grad_x(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? RunGradX<Near>(args, sinks, context) : RunGradX<double>(args, sinks, context);
}

void Run_rmsnorm_grad_gamma(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? RunGradGamma<Near>(args, sinks, context) : RunGradGamma<double>(args, sinks, context);
}

}  // namespace assay::cublas
