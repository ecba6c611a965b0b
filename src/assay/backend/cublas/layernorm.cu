// layernorm layernorm_grad_x layernorm_grad_params: a row is read again for each sum, from a cache most often.
#include "assay/backend/cublas/columns-inl.h"
#include "assay/backend/cublas/rows-inl.h"
#include "assay/ops/rules.h"

namespace assay::cublas {
namespace {

using numerics::Rsqrt;

template <class T>
struct Forward {
  const float *x, *gamma, *beta;
  std::int64_t n;
  float count, eps;
  Sink y, means, rstds;

  template <class Team>
  __device__ void operator()(std::int64_t row, const Team& team) const {
    const float* in = x + row * n;
    const T mean = team.template Sum<T>(n, [&](std::int64_t i) { return T(__ldg(in + i)); }) / T(count);
    const T squares = team.template Sum<T>(n, [&](std::int64_t i) {
      const T d = T(__ldg(in + i)) - mean;
      return d * d;
    });
    const T rstd = Rsqrt(squares / T(count) + T(eps));
    team.ForEach(n, [&](std::int64_t i) {
      y.Put(row * n + i, (T(__ldg(in + i)) - mean) * rstd * T(__ldg(gamma + i)) + T(__ldg(beta + i)));
    });
    if (team.leads()) {
      means.Put(row, mean);
      rstds.Put(row, rstd);
    }
  }
};

template <class T>
struct GradX {
  const float *x, *gamma, *means, *rstds, *dy;
  std::int64_t n;
  float count;
  Sink dx;

  template <class Team>
  __device__ void operator()(std::int64_t row, const Team& team) const {
    const float *in = x + row * n, *gradient = dy + row * n;
    const T mean(__ldg(means + row)), rstd(__ldg(rstds + row));
    const auto g = [&](std::int64_t i) { return T(__ldg(gradient + i)) * T(__ldg(gamma + i)); };
    const auto h = [&](std::int64_t i) { return (T(__ldg(in + i)) - mean) * rstd; };
    const T a = team.template Sum<T>(n, g) / T(count);
    const T b = team.template Sum<T>(n, [&](std::int64_t i) { return g(i) * h(i); }) / T(count);
    team.ForEach(n, [&](std::int64_t i) { dx.Put(row * n + i, rstd * (g(i) - h(i) * b - a)); });
  }
};

template <class T>
struct GradParams {
  using Number = T;
  static constexpr int kSums = 2;
  struct Column {};
  const float *x, *means, *rstds, *dy;

  __device__ Column Prepare(std::int64_t) const { return {}; }
  __device__ void Add(Accumulator<T> (&sums)[2], const Column&, std::int64_t row, std::int64_t i) const {
    const T gradient(__ldg(dy + i));
    sums[0].Add(gradient * ((T(__ldg(x + i)) - T(__ldg(means + row))) * T(__ldg(rstds + row))));
    sums[1].Add(gradient);
  }
};

template <class T>
struct PutParams {
  Sink dgamma, dbeta;
  __device__ void operator()(std::int64_t c, const T (&totals)[2]) const {
    dgamma.Put(c, totals[0]);
    dbeta.Put(c, totals[1]);
  }
};

template <class T>
void RunForward(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const Forward<T> op{.x = args.In<float>(0),
                      .gamma = args.In<float>(1),
                      .beta = args.In<float>(2),
                      .n = view.cols,
                      .count = static_cast<float>(view.cols),
                      .eps = args.attrs().Float(0),
                      .y = sinks[0],
                      .means = sinks[1],
                      .rstds = sinks[2]};
  LaunchRows(op, view.rows, view.cols, context, "layernorm");
}

template <class T>
void RunGradX(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const GradX<T> op{.x = args.In<float>(0),
                    .gamma = args.In<float>(1),
                    .means = args.In<float>(2),
                    .rstds = args.In<float>(3),
                    .dy = args.In<float>(4),
                    .n = view.cols,
                    .count = static_cast<float>(view.cols),
                    .dx = sinks[0]};
  LaunchRows(op, view.rows, view.cols, context, "layernorm_grad_x");
}

template <class T>
void RunGradParams(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const GradParams<T> op{
      .x = args.In<float>(0), .means = args.In<float>(1), .rstds = args.In<float>(2), .dy = args.In<float>(3)};
  RunColumnSums(op, PutParams<T>{sinks[0], sinks[1]}, view.rows, view.cols, context, "layernorm_grad_params");
}

}  // namespace

void Run_layernorm(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? RunForward<Near>(args, sinks, context) : RunForward<double>(args, sinks, context);
}

void Run_layernorm_grad_x(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? RunGradX<Near>(args, sinks, context) : RunGradX<double>(args, sinks, context);
}

void Run_layernorm_grad_params(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  AnyBounded(sinks) ? RunGradParams<Near>(args, sinks, context) : RunGradParams<double>(args, sinks, context);
}

}  // namespace assay::cublas
