// The poolings that compute, and their gradients: a thread for each element of the output, neighbouring threads on neighbouring channels.
#include "assay/backend/cublas/kernels.h"
#include "assay/backend/cublas/running_sum.h"
#include "assay/backend/cuda/pool-inl.h"

namespace assay::cublas {
namespace {

using cuda::Divisor;
using cuda::GlobalThread;
using cuda::GlobalThreads;
using cuda::Pool;

struct MaxPoolGrad {
  const float* gradient;
  const std::int32_t* argmax;
  template <class T, class Int>
  __device__ T Value(const Pool<Int>& pool, Int i) const {
    const cuda::Place<Int> at = pool.image.Of(i);
    const Int pixel = at.h * pool.w.in + at.w;
    RunningSum<T> sum;
    pool.ForEachWindow(at, [&](Int window) {
      if (argmax[window] == pixel) sum.Add(T(gradient[window]));
    });
    return sum.Total();
  }
};

struct AvgPool {
  const float* in;
  template <class T, class Int>
  __device__ T Value(const Pool<Int>& pool, Int i) const {
    RunningSum<T> sum;
    pool.ForEachTap(pool.pooled.Of(i), [&](Int at, Int) { sum.Add(T(in[at])); });
    return sum.Total() / T(pool.window);
  }
};

struct AvgPoolGrad {
  const float* gradient;
  template <class T, class Int>
  __device__ T Value(const Pool<Int>& pool, Int i) const {
    RunningSum<T> sum;
    pool.ForEachWindow(pool.image.Of(i), [&](Int window) { sum.Add(T(gradient[window])); });
    return sum.Total() / T(pool.window);
  }
};

template <class T, class Int, class Op>
__global__ void __launch_bounds__(kThreads)
    PoolElements(const __grid_constant__ Pool<Int> pool, Op op, Int total, const __grid_constant__ Sink sink) {
  for (Int i = GlobalThread<Int>(); i < total; i += GlobalThreads<Int>()) {
    sink.Put(static_cast<std::int64_t>(i), op.template Value<T>(pool, i));
  }
}

template <class Op>
void RunPool(const ops::PoolGeometry& g, const KernelArgs& args, const Sink& sink, Context& context, const Op& op) {
  const std::int64_t total = args.out_type(0).elements();
  if (total == 0) return;
  const auto launch = [&](auto number) {
    using Int = decltype(number);
    const Pool<Int> pool(g, g.channels);
    const unsigned grid = cuda::GridFor(total, kThreads);
    if (sink.bounded()) {
      PoolElements<Near><<<grid, kThreads, 0, context.stream()>>>(pool, op, static_cast<Int>(total), sink);
    } else {
      PoolElements<double><<<grid, kThreads, 0, context.stream()>>>(pool, op, static_cast<Int>(total), sink);
    }
  };
  if (cuda::IsSmallPool(g, args.in_type(0).elements(), total)) {
    launch(std::int32_t{});
  } else {
    launch(std::int64_t{});
  }
  cuda::CheckLaunch("pool");
}

// A thread for each image and channel.
template <class T, class Index>
__global__ void __launch_bounds__(kThreads) GlobalAvgPool(const float* in, Divisor<Index> by_channels, std::int64_t channels,
                                                          std::int64_t pixels, Index total, const __grid_constant__ Sink sink) {
  for (Index i = GlobalThread<Index>(); i < total; i += GlobalThreads<Index>()) {
    Index c;
    const auto image = static_cast<std::int64_t>(by_channels.Divide(i, c));
    const float* x = in + image * pixels * channels + static_cast<std::int64_t>(c);
    RunningSum<T> sum;
    for (std::int64_t p = 0; p < pixels; ++p) sum.Add(T(__ldg(x + p * channels)));
    sink.Put(static_cast<std::int64_t>(i), sum.Total() / T(static_cast<float>(pixels)));
  }
}

template <class Index>
__global__ void __launch_bounds__(kThreads)
    GlobalAvgPoolGrad(const float* gradient, Divisor<Index> by_image, Divisor<Index> by_channels, std::int64_t channels,
                      float pixels, Index total, const __grid_constant__ Sink sink) {
  for (Index i = GlobalThread<Index>(); i < total; i += GlobalThreads<Index>()) {
    Index in_image, c;
    const auto image = static_cast<std::int64_t>(by_image.Divide(i, in_image));
    by_channels.Divide(in_image, c);
    sink.Put(static_cast<std::int64_t>(i),
             double{__ldg(gradient + image * channels + static_cast<std::int64_t>(c))} / double{pixels});
  }
}

}  // namespace

void Run_max_pool2d_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunPool(cuda::BackwardPool(args), args, sinks[0], context, MaxPoolGrad{args.In<float>(0), args.In<std::int32_t>(1)});
}

void Run_avg_pool2d(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunPool(cuda::ForwardPool(args), args, sinks[0], context, AvgPool{args.In<float>(0)});
}

void Run_avg_pool2d_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  RunPool(cuda::BackwardPool(args), args, sinks[0], context, AvgPoolGrad{args.In<float>(0)});
}

void Run_global_avg_pool(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const Shape& x = args.in_type(0).shape;
  const std::int64_t total = args.out_type(0).elements();
  if (total == 0) return;
  constexpr int kFewThreads = 64;  // outputs are few
  cuda::WithIndex(total, [&](auto index) {
    using Index = decltype(index);
    const auto launch = [&](auto kernel) {
      kernel<<<cuda::GridFor(total, kFewThreads), kFewThreads, 0, context.stream()>>>(
          args.In<float>(0), Divisor<Index>(x[3]), x[3], x[1] * x[2], static_cast<Index>(total), sinks[0]);
    };
    launch(sinks[0].bounded() ? GlobalAvgPool<Near, Index> : GlobalAvgPool<double, Index>);
  });
  cuda::CheckLaunch("global_avg_pool");
}

void Run_global_avg_pool_grad(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const Shape& x = args.out_type(0).shape;
  const std::int64_t total = args.out_type(0).elements();
  if (total == 0) return;
  cuda::WithIndex(total, [&](auto index) {
    using Index = decltype(index);
    GlobalAvgPoolGrad<<<cuda::GridFor(total, kThreads), kThreads, 0, context.stream()>>>(
        args.In<float>(0), Divisor<Index>(x[1] * x[2] * x[3]), Divisor<Index>(x[3]), x[3], static_cast<float>(x[1] * x[2]),
        static_cast<Index>(total), sinks[0]);
  });
  cuda::CheckLaunch("global_avg_pool_grad");
}

}  // namespace assay::cublas
