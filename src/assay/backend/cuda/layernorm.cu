// Kernels of layernorm: a row is read once and held in registers when it has at most 1024 elements; its parameters' gradients are
// column reductions.
#include "assay/backend/cuda/columns-inl.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/row_kernels-inl.h"
#include "assay/backend/cuda/rows-inl.h"
#include "assay/ops/rules.h"

namespace assay::cuda {
namespace {

using numerics::device::Rsqrt;

struct Layernorm {
  static constexpr int kSums = 1, kHeld = 1;
  const float *in, *gamma, *beta;
  float *out, *means, *rstds;
  std::int64_t n;
  float count, eps;

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* x = in + number * n;
    float* y = out + number * n;
    const auto xs = row.Hold([=](int, auto i) { return __ldg(x + i); });
    float sum[1];
    row.Reduce(sum, [&](float(&acc)[1], int k, auto i) { acc[0] = __fadd_rn(acc[0], xs(k, i)); });
    const float mean = __fdiv_rn(sum[0], count);
    row.Reduce(sum, [&](float(&acc)[1], int k, auto i) {
      const float d = __fsub_rn(xs(k, i), mean);
      acc[0] = __fmaf_rn(d, d, acc[0]);
    });
    const float rstd = Rsqrt<Device>(__fadd_rn(__fdiv_rn(sum[0], count), eps));
    row.ForEach([&](int k, auto i) {
      const float h = __fmul_rn(__fsub_rn(xs(k, i), mean), rstd);
      y[i] = Device::Canonical(__fmaf_rn(h, __ldg(gamma + i), __ldg(beta + i)));
    });
    if (!row.leads()) return;
    means[number] = Device::Canonical(mean);
    rstds[number] = Device::Canonical(rstd);
  }
};

struct LayernormGradX {
  static constexpr int kSums = 2, kHeld = 2;
  const float *in, *gamma, *means, *rstds, *gradient;
  float* out;
  std::int64_t n;
  float count;

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* x = in + number * n;
    const float* dy = gradient + number * n;
    float* dx = out + number * n;
    const float mean = means[number];
    const float rstd = rstds[number];
    const auto g = row.Hold([=, this](int, auto i) { return __fmul_rn(__ldg(dy + i), __ldg(gamma + i)); });
    const auto h = row.Hold([=](int, auto i) { return __fmul_rn(__fsub_rn(__ldg(x + i), mean), rstd); });
    float sum[2];
    row.Reduce(sum, [&](float(&acc)[2], int k, auto i) {
      acc[0] = __fadd_rn(acc[0], g(k, i));
      acc[1] = __fmaf_rn(g(k, i), h(k, i), acc[1]);
    });
    const float a = __fdiv_rn(sum[0], count);
    const float b = __fdiv_rn(sum[1], count);
    row.ForEach(
        [&](int k, auto i) { dx[i] = Device::Canonical(__fmul_rn(rstd, __fsub_rn(__fmaf_rn(-h(k, i), b, g(k, i)), a))); });
  }
};

struct LayernormGradParams {
  static constexpr int kSums = 2;
  const float *in, *means, *rstds, *gradient;
  float *dgamma, *dbeta;

  struct Column {};
  __device__ Column Prepare(std::int64_t) const { return {}; }
  __device__ __forceinline__ void Step(float (&acc)[2], const Column&, std::int64_t row, std::int64_t i) const {
    const float dy = __ldg(gradient + i);
    const float h = __fmul_rn(__fsub_rn(__ldg(in + i), __ldg(means + row)), __ldg(rstds + row));
    acc[0] = __fmaf_rn(dy, h, acc[0]);
    acc[1] = __fadd_rn(acc[1], dy);
  }
  __device__ void Finish(std::int64_t c, const float (&sum)[2]) const {
    dgamma[c] = Device::Canonical(sum[0]);
    dbeta[c] = Device::Canonical(sum[1]);
  }
};

}  // namespace

void Run_layernorm(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const Layernorm op{.in = args.In<float>(0),
                     .gamma = args.In<float>(1),
                     .beta = args.In<float>(2),
                     .out = args.Out<float>(0),
                     .means = args.Out<float>(1),
                     .rstds = args.Out<float>(2),
                     .n = view.cols,
                     .count = static_cast<float>(view.cols),
                     .eps = args.attrs().Float(0)};
  LaunchRows(op, view.rows, context, "layernorm");
}

void Run_layernorm_grad_x(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const LayernormGradX op{.in = args.In<float>(0),
                          .gamma = args.In<float>(1),
                          .means = args.In<float>(2),
                          .rstds = args.In<float>(3),
                          .gradient = args.In<float>(4),
                          .out = args.Out<float>(0),
                          .n = view.cols,
                          .count = static_cast<float>(view.cols)};
  LaunchRows(op, view.rows, context, "layernorm_grad_x");
}

void Run_layernorm_grad_params(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const LayernormGradParams op{.in = args.In<float>(0),
                               .means = args.In<float>(1),
                               .rstds = args.In<float>(2),
                               .gradient = args.In<float>(3),
                               .dgamma = args.Out<float>(0),
                               .dbeta = args.Out<float>(1)};
  LaunchColumns(op, view.rows, view.cols, context, "layernorm_grad_params");
}

}  // namespace assay::cuda
