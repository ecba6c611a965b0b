// Kernels of the poolings: a thread for each element of the output, or for four channels of a pixel, neighbouring threads on
// neighbouring channels.
#include <type_traits>

#include "assay/backend/cuda/columns-inl.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/ops/pool_geometry.h"

namespace assay::cuda {
namespace {

constexpr int kMaxPoolThreads = 1024;

// W neighbouring channels: 1, or 4 when the number of channels allows it.
template <class V, int W>
struct alignas(W * sizeof(V)) Pack {
  V at[W];
};

template <class Int>
struct Span {
  Int begin, end;
};

// ops::PoolAxis on the device, with the indices' type.
template <class Int>
struct Axis {
  using Index = std::make_unsigned_t<Int>;
  Int in, out, kernel, stride, pad;
  Divisor<Index> by_stride;

  explicit Axis(const ops::PoolAxis& a)
      : in(static_cast<Int>(a.in)),
        out(static_cast<Int>(a.out)),
        kernel(static_cast<Int>(a.kernel)),
        stride(static_cast<Int>(a.stride)),
        pad(static_cast<Int>(a.pad)),
        by_stride(a.stride) {}

  // The pixels of a window.
  __device__ __forceinline__ Span<Int> Pixels(Int window) const {
    const Int begin = window * stride - pad, end = begin + kernel;
    return {begin < 0 ? 0 : begin, end < in ? end : in};
  }
  // The windows that cover a pixel.
  __device__ __forceinline__ Span<Int> Windows(Int pixel) const {
    const Int first = pixel + pad - kernel + 1;
    const Int end = Quotient(pixel + pad) + 1;
    return {first <= 0 ? 0 : Quotient(first + stride - 1), end < out ? end : out};
  }

 private:
  __device__ __forceinline__ Int Quotient(Int n) const {
    Index rest;
    return static_cast<Int>(by_stride.Divide(static_cast<Index>(n), rest));
  }
};

template <class Int>
struct Place {
  Int n, h, w, c;
};

// The place of element i of images whose extents are given as divisors.
template <class Int>
class Places {
 public:
  using Index = std::make_unsigned_t<Int>;
  Places(std::int64_t height, std::int64_t width, std::int64_t channels)
      : height_(height), width_(width), channels_(channels) {}
  __device__ __forceinline__ Place<Int> Of(Int i) const {
    Index c, w, h;
    const Index pixel = channels_.Divide(static_cast<Index>(i), c);
    const Index line = width_.Divide(pixel, w);
    const Index n = height_.Divide(line, h);
    return {static_cast<Int>(n), static_cast<Int>(h), static_cast<Int>(w), static_cast<Int>(c)};
  }

 private:
  Divisor<Index> height_, width_, channels_;
};

// Channels, and indices of elements, count packs.
template <class Int>
struct Pool {
  Axis<Int> h, w;
  Int channels;
  Places<Int> image, pooled;
  float window;

  Pool(const ops::PoolGeometry& g, std::int64_t packs)
      : h(g.h),
        w(g.w),
        channels(static_cast<Int>(packs)),
        image(g.h.in, g.w.in, packs),
        pooled(g.h.out, g.w.out, packs),
        window(g.window()) {}

  // Calls body(element of the image, its pixel's number) for the pixels of a window, rows first.
  template <class Body>
  __device__ __forceinline__ void ForEachTap(const Place<Int>& at, const Body& body) const {
    const Span<Int> ys = h.Pixels(at.h), xs = w.Pixels(at.w);
    for (Int y = ys.begin; y < ys.end; ++y) {
      for (Int x = xs.begin; x < xs.end; ++x) body(((at.n * h.in + y) * w.in + x) * channels + at.c, y * w.in + x);
    }
  }
  // Calls body(element of the pooled image) for the windows that contain a pixel, rows first.
  template <class Body>
  __device__ __forceinline__ void ForEachWindow(const Place<Int>& at, const Body& body) const {
    const Span<Int> ys = h.Windows(at.h), xs = w.Windows(at.w);
    for (Int y = ys.begin; y < ys.end; ++y) {
      for (Int x = xs.begin; x < xs.end; ++x) body(((at.n * h.out + y) * w.out + x) * channels + at.c);
    }
  }
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

// Whether all products and sums of the geometry fit in 32 bits.
bool IsSmall(const ops::PoolGeometry& g, std::int64_t image, std::int64_t pooled) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 28;
  const auto small = [](const ops::PoolAxis& a) { return std::max({a.in, a.out, a.kernel, a.stride, a.pad}) < kSmall; };
  return small(g.h) && small(g.w) && FitsIndex32(2 * std::max(image, pooled));
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
  const bool small = IsSmall(g, args.in_type(0).elements(), total);
  if (g.channels % 4 == 0) {
    LaunchPacks<Op, 4>(g, total, small, context, pointers...);
  } else {
    LaunchPacks<Op, 1>(g, total, small, context, pointers...);
  }
  CheckLaunch(name);
}

ops::PoolGeometry Forward(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.in_type(0).shape, args.out_type(0).shape);
}

ops::PoolGeometry Backward(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.out_type(0).shape, args.in_type(0).shape);
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

// Calls run(Index{}) with the type of index that `elements` elements need.
template <class Run>
void WithIndex(std::int64_t elements, const Run& run) {
  if (FitsIndex32(elements)) {
    run(std::uint32_t{});
  } else {
    run(std::uint64_t{});
  }
}

}  // namespace

void Run_max_pool2d(const KernelArgs& args, Context& context) {
  LaunchPool<MaxPool>(Forward(args), args, context, "max_pool2d", args.In<float>(0), args.Out<float>(0),
                      args.Out<std::int32_t>(1));
}

void Run_max_pool2d_grad(const KernelArgs& args, Context& context) {
  LaunchPool<MaxPoolGrad>(Backward(args), args, context, "max_pool2d_grad", args.In<float>(0), args.In<std::int32_t>(1),
                          args.Out<float>(0));
}

void Run_avg_pool2d(const KernelArgs& args, Context& context) {
  LaunchPool<AvgPool>(Forward(args), args, context, "avg_pool2d", args.In<float>(0), args.Out<float>(0));
}

void Run_avg_pool2d_grad(const KernelArgs& args, Context& context) {
  LaunchPool<AvgPoolGrad>(Backward(args), args, context, "avg_pool2d_grad", args.In<float>(0), args.Out<float>(0));
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
