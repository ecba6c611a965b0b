// How the operands of convolutions get into the slabs of the matmul core: see gemm_load-inl.h for what a loader is. A tap
// outside the image is written as +0 and takes part like any other value.
//
// For .cu files alone.
#pragma once

#include <cstdint>
#include <type_traits>

#include "assay/backend/cuda/gemm_load-inl.h"
#include "assay/backend/cuda/launch-inl.h"

namespace assay::cuda::gemm {

// Rows are pixels (image, y, x); k is (tap row, tap column, channel). Tap (i, j) of a pixel reads (y·scale + first_h + i·step,
// x·scale + first_w + j·step).
struct TapImages {
  const float* data;
  std::int64_t rows;
  int height, width, channels;  // of the images that are read
  int inner;                    // channels of a group, the values of k of one tap
  int taps_w;
  int scale, first_h, first_w, step;
  Divisor<std::uint32_t> by_inner, by_taps_w;
  std::int64_t rows_h, rows_w;  // extents of y and x
};

// `kWholeTaps`: inner is a multiple of kDepth, so that a slab lies within one tap, and the images of a tile's rows span less
// than 2^32 bytes.
template <int kRows, int kDepth, int kThreads, bool kWholeTaps>
struct LoadTapImages {
  using Params = TapImages;
  using Layout = SharedAlongK<kRows, kDepth, kThreads, 8>;
  static constexpr int kLd = Layout::kLd, kStep = Layout::kStep, kPasses = Layout::kPasses;
  static_assert(kPasses <= 32);
  using Offset = std::conditional_t<kWholeTaps, std::uint32_t, std::uint64_t>;

  const float* base;  // of tap and channel, in the first row's image
  Offset from[kPasses];
  std::uint32_t to;
  std::uint32_t inside = 0;  // bit i: the tap of row i is inside its image
  int channel, tap_h, tap_w;

  // Where tap (0, 0) of each row is. A row belongs to neighbouring threads of one warp, the first of which writes.
  static __device__ __forceinline__ int2* Places() {
    __shared__ int2 places[kRows];
    return places;
  }

  __device__ __forceinline__ LoadTapImages(const Params& p, std::int64_t row, std::int64_t group, std::int64_t first_k) {
    const int thread = static_cast<int>(threadIdx.x), k = Layout::K(thread), r = Layout::Row(thread);
    const std::int64_t first_image = row / (p.rows_h * p.rows_w);
    to = Layout::To(thread);
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const std::int64_t at = min(row + r + i * kStep, p.rows - 1);
      const std::int64_t image = at / (p.rows_h * p.rows_w);
      const int y = static_cast<int>(at / p.rows_w % p.rows_h) * p.scale, x = static_cast<int>(at % p.rows_w) * p.scale;
      if (k == 0) Places()[r + i * kStep] = {y + p.first_h, x + p.first_w};
      const std::int64_t pixel = ((image - first_image) * p.height + y) * p.width + x;
      from[i] = static_cast<Offset>((pixel * p.channels + (kWholeTaps ? k : 0)) * 4);
    }
    __syncwarp();
    base = p.data + group * p.inner + ((first_image * p.height + p.first_h) * p.width + p.first_w) * p.channels;
    if constexpr (kWholeTaps) {
      const int tap = static_cast<int>(first_k / p.inner);
      channel = static_cast<int>(first_k % p.inner);
      tap_h = tap / p.taps_w, tap_w = tap % p.taps_w;
      base += (tap_h * p.width + tap_w) * static_cast<std::int64_t>(p.step * p.channels) + channel;
      Look(p);
    } else {
      channel = static_cast<int>(first_k) + k;  // here: the thread's k
    }
  }

  __device__ __forceinline__ void Look(const Params& p) {
    const int r = Layout::Row(ThreadAnew());
    inside = 0;
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const int2 place = Places()[r + i * kStep];
      if (Inside(p, place)) inside |= 1u << i;
    }
  }
  __device__ __forceinline__ bool Inside(const Params& p, int2 place) const {
    return static_cast<unsigned>(place.x + tap_h * p.step) < static_cast<unsigned>(p.height) &&
           static_cast<unsigned>(place.y + tap_w * p.step) < static_cast<unsigned>(p.width);
  }

  template <bool whole>
  __device__ __forceinline__ void Load(const Params& p, std::uint32_t slab, int depth) {
    if constexpr (kWholeTaps) {
      if (channel == p.inner) {
        channel = 0;
        base += p.step * p.channels - p.inner;
        if (++tap_w == p.taps_w) {
          tap_w = 0, ++tap_h;
          base += static_cast<std::int64_t>(p.width - p.taps_w) * (p.step * p.channels);
        }
        Look(p);
      }
    }
    const int k = whole ? 0 : Layout::K(ThreadAnew());
#pragma unroll
    for (int h = 0; h < kDepth; h += Layout::kSide) {
      const float* tap = base + (kWholeTaps ? h : 0);
      if constexpr (!kWholeTaps) {
        std::uint32_t c, j;
        const std::uint32_t i = p.by_taps_w.Divide(p.by_inner.Divide(static_cast<std::uint32_t>(channel + h), c), j);
        tap_h = static_cast<int>(i), tap_w = static_cast<int>(j);
        tap += (tap_h * p.width + tap_w) * static_cast<std::int64_t>(p.step * p.channels) + c;
        Look(p);
      }
      if (!whole && k + h >= depth) break;
#pragma unroll
      for (int i = 0; i < kPasses; ++i) {
        CopyAsyncOrZero<4>(slab + to + Layout::Ahead(h, i), Plus(tap, from[i]), (inside >> i & 1) != 0);
      }
    }
    channel += kDepth;
    if constexpr (kWholeTaps) base += kDepth;
  }
};

// The weights of conv2d_grad_x: rows are the input channels of a group, contiguous; k is (tap row, tap column, output channel),
// where neighbouring taps are `stride` apart in the weights.
struct TapWeights {
  const float* data;  // the first tap
  std::int64_t rows, ld;
  int inner;  // output channels of a group
  int taps_w;
  std::int64_t step_w, step_h;  // between neighbouring taps, in elements
  Divisor<std::uint32_t> by_inner, by_taps_w;
};

template <int kRows, int kDepth, int kThreads, bool kWholeTaps>
struct LoadTapWeights {
  using Params = TapWeights;
  static constexpr int kVector = kWholeTaps ? 4 : 1;
  using Layout = SharedAlongRows<kRows, kDepth, kThreads, kVector>;
  static constexpr int kLd = Layout::kLd, kParts = Layout::kParts, kStep = Layout::kStep, kPasses = Layout::kPasses;

  const float* base;
  std::uint32_t from[kParts];
  std::uint32_t to;
  int channel, tap_w;

  __device__ __forceinline__ LoadTapWeights(const Params& p, std::int64_t row, std::int64_t group, std::int64_t first_k) {
    const int thread = static_cast<int>(threadIdx.x), k = Layout::K(thread);
    to = Layout::To(thread);
    const int last = static_cast<int>(min(p.rows - row, static_cast<std::int64_t>(kRows))) - kVector;
    base = p.data + group * p.inner * p.ld + row;
    if constexpr (kWholeTaps) {
      const int tap = static_cast<int>(first_k / p.inner);
      channel = static_cast<int>(first_k % p.inner);
      tap_w = tap % p.taps_w;
      base += tap / p.taps_w * p.step_h + tap_w * p.step_w + channel * p.ld;
    } else {
      channel = static_cast<int>(first_k) + k;  // here: the thread's k
    }
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const std::uint32_t at = static_cast<std::uint32_t>(min(Layout::Row(thread, part), last));
      from[part] = (kWholeTaps ? static_cast<std::uint32_t>(k) * static_cast<std::uint32_t>(p.ld) + at : at) * 4;
    }
  }

  template <bool whole>
  __device__ __forceinline__ void Load(const Params& p, std::uint32_t slab, int depth) {
    if constexpr (kWholeTaps) {
      if (channel == p.inner) {
        channel = 0;
        base += p.step_w - p.inner * p.ld;
        if (++tap_w == p.taps_w) {
          tap_w = 0;
          base += p.step_h - p.taps_w * p.step_w;
        }
      }
      channel += kDepth;
    }
    const int k = whole ? 0 : Layout::K(ThreadAnew());
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const float* row = base;
      if constexpr (kWholeTaps) {
        base += p.ld * kStep;
      } else {
        std::uint32_t o, j;
        const std::uint32_t h = p.by_taps_w.Divide(p.by_inner.Divide(static_cast<std::uint32_t>(channel), o), j);
        row += h * p.step_h + j * p.step_w + o * p.ld;
        channel += kStep;
      }
      if (whole || k + i * kStep < depth) {
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          CopyAsync<4 * kVector>(slab + to + Layout::Ahead(i, part), Plus(row, from[part]));
        }
      }
    }
  }
};

// The images of conv2d_grad_w: rows are (tap row, tap column, channel), channels contiguous; k is (image, oh, ow).
struct WindowImages {
  const float* data;
  std::int64_t rows;
  int height, width, channels;
  int inner;  // channels of a group
  int taps_w, stride, pad;
  Divisor<std::uint32_t> by_ow, by_oh;
};

template <int kRows, int kDepth, int kThreads, int kVector>
struct LoadWindowImages {
  using Params = WindowImages;
  using Layout = SharedAlongRows<kRows, kDepth, kThreads, kVector>;
  static constexpr int kLd = Layout::kLd, kParts = Layout::kParts, kStep = Layout::kStep, kPasses = Layout::kPasses;

  std::uint32_t to;
  std::int32_t tap_h[kParts], tap_w[kParts], channel[kParts];
  std::uint32_t position;  // k of the first pass

  __device__ __forceinline__ LoadWindowImages(const Params& p, std::int64_t row, std::int64_t group, std::int64_t first_k) {
    const int thread = static_cast<int>(threadIdx.x), k = Layout::K(thread);
    to = Layout::To(thread);
    position = static_cast<std::uint32_t>(first_k) + k;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const int at = static_cast<int>(min(row + Layout::Row(thread, part), p.rows - kVector));
      tap_h[part] = at / p.inner / p.taps_w - p.pad;
      tap_w[part] = at / p.inner % p.taps_w - p.pad;
      channel[part] = static_cast<int>(group) * p.inner + at % p.inner;
    }
  }

  template <bool whole>
  __device__ __forceinline__ void Load(const Params& p, std::uint32_t slab, int depth) {
    const int k = whole ? 0 : Layout::K(ThreadAnew());
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      std::uint32_t oh, ow;
      const std::uint32_t image = p.by_oh.Divide(p.by_ow.Divide(position, ow), oh);
      position += kStep;
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const int h = static_cast<int>(oh) * p.stride + tap_h[part], w = static_cast<int>(ow) * p.stride + tap_w[part];
        const bool inside = static_cast<unsigned>(h) < static_cast<unsigned>(p.height) &&
                            static_cast<unsigned>(w) < static_cast<unsigned>(p.width);
        const float* from = p.data;
        if (inside) {
          const std::uint32_t pixel = (image * static_cast<std::uint32_t>(p.height) + static_cast<std::uint32_t>(h)) *
                                          static_cast<std::uint32_t>(p.width) +
                                      static_cast<std::uint32_t>(w);
          from += static_cast<std::uint64_t>(pixel) * static_cast<std::uint32_t>(p.channels) +
                  static_cast<std::uint32_t>(channel[part]);
        }
        if (whole || k + i * kStep < depth) {
          CopyAsyncOrZero<4 * kVector>(slab + to + Layout::Ahead(i, part), from, inside);
        }
      }
    }
  }
};

}  // namespace assay::cuda::gemm
