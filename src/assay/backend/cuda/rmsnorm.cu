// Kernels of rmsnorm: a row is read once and held in registers when it has at most 1024 elements; gamma's gradient is a column
// reduction.
#include "assay/backend/cuda/columns-inl.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/row_kernels-inl.h"
#include "assay/backend/cuda/rows-inl.h"
#include "assay/ops/rules.h"

namespace assay::cuda {
namespace {

using numerics::device::Rsqrt;

struct Rmsnorm {
  static constexpr int kSums = 1, kHeld = 1;
  const float *in, *gamma;
  float *out, *rstds;
  std::int64_t n;
  float count, eps;

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* x = in + number * n;
    float* y = out + number * n;
    const auto xs = row.Hold([=](int, auto i) { return __ldg(x + i); });
    float sum[1];
    row.Reduce(sum, [&](float(&acc)[1], int k, auto i) { acc[0] = __fmaf_rn(xs(k, i), xs(k, i), acc[0]); });
    const float rstd = Rsqrt<Device>(__fadd_rn(__fdiv_rn(sum[0], count), eps));
    row.ForEach([&](int k, auto i) { y[i] = Device::Canonical(__fmul_rn(__fmul_rn(xs(k, i), rstd), __ldg(gamma + i))); });
    if (row.leads()) rstds[number] = Device::Canonical(rstd);
  }
};

struct RmsnormGradX {
  static constexpr int kSums = 1, kHeld = 2;
  const float *in, *gamma, *rstds, *gradient;
  float* out;
  std::int64_t n;
  float count;

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* x = in + number * n;
    const float* dy = gradient + number * n;
    float* dx = out + number * n;
    const float rstd = rstds[number];
    const auto g = row.Hold([=, this](int, auto i) { return __fmul_rn(__ldg(dy + i), __ldg(gamma + i)); });
    const auto h = row.Hold([=](int, auto i) { return __fmul_rn(__ldg(x + i), rstd); });
    float sum[1];
    row.Reduce(sum, [&](float(&acc)[1], int k, auto i) { acc[0] = __fmaf_rn(g(k, i), h(k, i), acc[0]); });
    const float b = __fdiv_rn(sum[0], count);
    row.ForEach([&](int k, auto i) { dx[i] = Device::Canonical(__fmul_rn(rstd, __fmaf_rn(-h(k, i), b, g(k, i)))); });
  }
};

struct RmsnormGradGamma {
  static constexpr int kSums = 1;
  const float *in, *rstds, *gradient;
  float* dgamma;

  struct Column {};
  __device__ Column Prepare(std::int64_t) const { return {}; }
  __device__ __forceinline__ void Step(float (&acc)[1], const Column&, std::int64_t row, std::int64_t i) const {
    acc[0] = __fmaf_rn(__ldg(gradient + i), __fmul_rn(__ldg(in + i), __ldg(rstds + row)), acc[0]);
  }
  __device__ void Finish(std::int64_t c, const float (&sum)[1]) const { dgamma[c] = Device::Canonical(sum[0]); }
};

}  // namespace

void Run_rmsnorm(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const Rmsnorm op{.in = args.In<float>(0),
                   .gamma = args.In<float>(1),
                   .out = args.Out<float>(0),
                   .rstds = args.Out<float>(1),
                   .n = view.cols,
                   .count = static_cast<float>(view.cols),
                   .eps = args.attrs().Float(0)};
  LaunchRows(op, view.rows, context, "rmsnorm");
}

void Run_rmsnorm_grad_x(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const RmsnormGradX op{.in = args.In<float>(0),
                        .gamma = args.In<float>(1),
                        .rstds = args.In<float>(2),
                        .gradient = args.In<float>(3),
                        .out = args.Out<float>(0),
                        .n = view.cols,
                        .count = static_cast<float>(view.cols)};
  LaunchRows(op, view.rows, context, "rmsnorm_grad_x");
}

void Run_rmsnorm_grad_gamma(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const RmsnormGradGamma op{
      .in = args.In<float>(0), .rstds = args.In<float>(1), .gradient = args.In<float>(2), .dgamma = args.Out<float>(0)};
  LaunchColumns(op, view.rows, view.cols, context, "rmsnorm_grad_gamma");
}

}  // namespace assay::cuda
