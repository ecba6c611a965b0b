// The geometry of pooling on the device: which elements of an image a window covers, and which windows cover a pixel. For .cu files alone.
#pragma once

#include <type_traits>

#include "assay/backend/cuda/launch-inl.h"
#include "assay/ops/pool_geometry.h"

namespace assay::cuda {

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

// Whether all products and sums of the geometry fit in 32 bits.
inline bool IsSmallPool(const ops::PoolGeometry& g, std::int64_t image, std::int64_t pooled) {
  constexpr std::int64_t kSmall = std::int64_t{1} << 28;
  const auto small = [](const ops::PoolAxis& a) { return std::max({a.in, a.out, a.kernel, a.stride, a.pad}) < kSmall; };
  return small(g.h) && small(g.w) && FitsIndex32(2 * std::max(image, pooled));
}

inline ops::PoolGeometry ForwardPool(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.in_type(0).shape, args.out_type(0).shape);
}

inline ops::PoolGeometry BackwardPool(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.out_type(0).shape, args.in_type(0).shape);
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

}  // namespace assay::cuda
