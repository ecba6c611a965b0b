// Kernels of the poolings: a thread for each element of the output, or for four channels of a pixel, neighbouring threads on
// neighbouring channels.
#include <type_traits>

#include "assay/backend/cuda/columns-inl.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/backend/cuda/pool-inl.h"

namespace assay::cuda {
namespace {

constexpr int kMaxPoolThreads = 1024;

// W neighbouring channels: 1, or 4 when the number of channels allows it.
template <class V, int W>
struct alignas(W * sizeof(V)) Pack {
  V at[W];
};

template <class Int, int W>
struct MaxPool {
  const Pack<float, W>* in;
  Pack<float, W>* out;
  Pack<std::int32_t, W>* argmax;
  __device__ void operator()(const Pool<Int>& pool, Int i) const {
    Pack<float, W> best{};
    Pack<std::int32_t, W> taken;
#pragma unroll
    for (int k = 0; k < W; ++k) taken.at[k] = -1;
    pool.ForEachTap(pool.pooled.Of(i), [&](Int at, Int pixel) {
      const Pack<float, W> v = in[at];
#pragma unroll
      for (int k = 0; k < W; ++k) {
        if (taken.at[k] >= 0 && !(v.at[k] > best.at[k] || (v.at[k] != v.at[k] && best.at[k] == best.at[k]))) continue;
        best.at[k] = v.at[k];
        taken.at[k] = static_cast<std::int32_t>(pixel);
      }
    });
#pragma unroll
    for (int k = 0; k < W; ++k) best.at[k] = Device::Canonical(best.at[k]);
    out[i] = best;
    argmax[i] = taken;
  }
};

template <class Int, int W>
struct MaxPoolGrad {
  const Pack<float, W>* gradient;
  const Pack<std::int32_t, W>* argmax;
  Pack<float, W>* out;
  __device__ void operator()(const Pool<Int>& pool, Int i) const {
    const Place<Int> at = pool.image.Of(i);
    const Int pixel = at.h * pool.w.in + at.w;
    Pack<float, W> acc{};
    pool.ForEachWindow(at, [&](Int window) {
      const Pack<std::int32_t, W> taken = argmax[window];
      const Pack<float, W> dy = gradient[window];
#pragma unroll
      for (int k = 0; k < W; ++k) {
        if (taken.at[k] == pixel) acc.at[k] = __fadd_rn(acc.at[k], dy.at[k]);
      }
    });
#pragma unroll
    for (int k = 0; k < W; ++k) acc.at[k] = Device::Canonical(acc.at[k]);
    out[i] = acc;
  }
};

// Adds to a pack.
template <int W>
__device__ __forceinline__ void Accumulate(Pack<float, W>& acc, const Pack<float, W>& x) {
#pragma unroll
  for (int k = 0; k < W; ++k) acc.at[k] = __fadd_rn(acc.at[k], x.at[k]);
}

template <int W>
__device__ __forceinline__ Pack<float, W> Mean(Pack<float, W> acc, float window) {
#pragma unroll
  for (int k = 0; k < W; ++k) acc.at[k] = Device::Canonical(__fdiv_rn(acc.at[k], window));
  return acc;
}

template <class Int, int W>
struct AvgPool {
  const Pack<float, W>* in;
  Pack<float, W>* out;
  __device__ void operator()(const Pool<Int>& pool, Int i) const {
    Pack<float, W> acc{};
    pool.ForEachTap(pool.pooled.Of(i), [&](Int at, Int) { Accumulate(acc, in[at]); });
    out[i] = Mean(acc, pool.window);
  }
};

template <class Int, int W>
struct AvgPoolGrad {
  const Pack<float, W>* gradient;
  Pack<float, W>* out;
  __device__ void operator()(const Pool<Int>& pool, Int i) const {
    Pack<float, W> acc{};
    pool.ForEachWindow(pool.image.Of(i), [&](Int window) { Accumulate(acc, gradient[window]); });
    out[i] = Mean(acc, pool.window);
  }
};

template <class Int, class Op>
__global__ void __launch_bounds__(kMaxPoolThreads, 1) PoolElements(const __grid_constant__ Pool<Int> pool, Op op, Int total) {
  for (Int i = GlobalThread<Int>(); i < total; i += GlobalThreads<Int>()) op(pool, i);
}

template <template <class, int> class Op, int W, class... Pointers>
void LaunchPacks(const ops::PoolGeometry& g, std::int64_t total, bool small, Context& context, Pointers*... pointers) {
  const int threads = ThreadsOr(context, 256, kMaxPoolThreads);
  const unsigned grid = GridFor(total / W, threads);
  const auto launch = [&](auto number) {
    using Int = decltype(number);
    const Op<Int, W> op{
        reinterpret_cast<std::conditional_t<std::is_const_v<Pointers>, const Pack<std::remove_const_t<Pointers>, W>,
                                            Pack<std::remove_const_t<Pointers>, W>>*>(pointers)...};
    PoolElements<<<grid, threads, 0, context.stream()>>>(Pool<Int>(g, g.channels / W), op, static_cast<Int>(total / W));
  };
  if (small) {
    launch(std::int32_t{});
  } else {
    launch(std::int64_t{});
  }
}

// Op<Int, W> is made from `pointers` to elements, for the type of index and the packs that the geometry asks for.
template <template <class, int> class Op, class... Pointers>
void LaunchPool(const ops::PoolGeometry& g, const KernelArgs& args, Context& context, const char* name, Pointers*... pointers) {
  const std::int64_t total = args.out_type(0).elements();
  if (total == 0) return;
  const bool small = IsSmallPool(g, args.in_type(0).elements(), total);
  if (g.channels % 4 == 0) {
    LaunchPacks<Op, 4>(g, total, small, context, pointers...);
  } else {
    LaunchPacks<Op, 1>(g, total, small, context, pointers...);
  }
  CheckLaunch(name);
}

// A thread for each image and channel.
template <class Index>
__global__ void __launch_bounds__(kMaxPoolThreads, 1) GlobalAvgPool(const float* in, float* out, Divisor<Index> by_channels,
                                                                    std::int64_t channels, std::int64_t pixels, Index total) {
  for (Index i = GlobalThread<Index>(); i < total; i += GlobalThreads<Index>()) {
    Index c;
    const std::int64_t n = static_cast<std::int64_t>(by_channels.Divide(i, c));
    const float* x = in + n * pixels * channels + static_cast<std::int64_t>(c);
    float sum[1];
    SumColumnOf(pixels, sum, [&](std::int64_t p, float(&value)[1]) { value[0] = __ldg(x + p * channels); });
    out[i] = Device::Canonical(__fdiv_rn(sum[0], static_cast<float>(pixels)));
  }
}

template <class Index>
__global__ void __launch_bounds__(kMaxPoolThreads, 1)
    GlobalAvgPoolGrad(const float* gradient, float* out, Divisor<Index> by_image, Divisor<Index> by_channels,
                      std::int64_t channels, float pixels, Index total) {
  for (Index i = GlobalThread<Index>(); i < total; i += GlobalThreads<Index>()) {
    Index in_image, c;
    const std::int64_t n = static_cast<std::int64_t>(by_image.Divide(i, in_image));
    by_channels.Divide(in_image, c);
    out[i] = Device::Canonical(__fdiv_rn(__ldg(gradient + n * channels + static_cast<std::int64_t>(c)), pixels));
  }
}

}  // namespace

void Run_max_pool2d(const KernelArgs& args, Context& context) {
  LaunchPool<MaxPool>(ForwardPool(args), args, context, "max_pool2d", args.In<float>(0), args.Out<float>(0),
                      args.Out<std::int32_t>(1));
}

void Run_max_pool2d_grad(const KernelArgs& args, Context& context) {
  LaunchPool<MaxPoolGrad>(BackwardPool(args), args, context, "max_pool2d_grad", args.In<float>(0), args.In<std::int32_t>(1),
                          args.Out<float>(0));
}

void Run_avg_pool2d(const KernelArgs& args, Context& context) {
  LaunchPool<AvgPool>(ForwardPool(args), args, context, "avg_pool2d", args.In<float>(0), args.Out<float>(0));
}

void Run_avg_pool2d_grad(const KernelArgs& args, Context& context) {
  LaunchPool<AvgPoolGrad>(BackwardPool(args), args, context, "avg_pool2d_grad", args.In<float>(0), args.Out<float>(0));
}

void Run_global_avg_pool(const KernelArgs& args, Context& context) {
  const Shape& x = args.in_type(0).shape;
  const std::int64_t total = args.out_type(0).elements();
  if (total == 0) return;
  const int threads = ThreadsOr(context, 64, kMaxPoolThreads);
  WithIndex(total, [&](auto index) {
    using Index = decltype(index);
    GlobalAvgPool<<<GridFor(total, threads), threads, 0, context.stream()>>>(
        args.In<float>(0), args.Out<float>(0), Divisor<Index>(x[3]), x[3], x[1] * x[2], static_cast<Index>(total));
  });
  CheckLaunch("global_avg_pool");
}

void Run_global_avg_pool_grad(const KernelArgs& args, Context& context) {
  const Shape& x = args.out_type(0).shape;
  const std::int64_t total = args.out_type(0).elements();
  if (total == 0) return;
  const int threads = ThreadsOr(context, 256, kMaxPoolThreads);
  WithIndex(total, [&](auto index) {
    using Index = decltype(index);
    GlobalAvgPoolGrad<<<GridFor(total, threads), threads, 0, context.stream()>>>(
        args.In<float>(0), args.Out<float>(0), Divisor<Index>(x[1] * x[2] * x[3]), Divisor<Index>(x[3]), x[3],
        static_cast<float>(x[1] * x[2]), static_cast<Index>(total));
  });
  CheckLaunch("global_avg_pool_grad");
}

}  // namespace assay::cuda
