// Convolutions by digits: what a window meets is cut into digits as rows of a matrix, and so are the weights; then they are multiplied as matrices.
//
// A block of K is one tap and up to 256 channels, or in conv2d_grad_w a piece of one image. Blocks are filled up with zeros.
#include <algorithm>

#include "assay/backend/cuda/digit_gemm.h"
#include "assay/backend/cuda/digit_ops.h"
#include "assay/backend/cuda/digitize-inl.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/digits.h"

namespace assay::cuda::digits {
namespace {

using ops::Conv2dGeometry;

constexpr std::int64_t kMostWindowBytes = std::int64_t{1} << 30;  // of digits of windows that lie in memory at once

// Element 0 of the channels that a row's block at a tap reads, or none; they are `stride` apart.
struct WindowsOfX {  // conv2d: row r is a window
  Conv2dGeometry g;
  const float* x;
  __device__ const float* operator()(std::int64_t r, std::int64_t tap) const {
    const std::int64_t ow = r % g.ow, oh = r / g.ow % g.oh, image = r / (g.ow * g.oh);
    const std::int64_t row = oh * g.stride + tap / g.kw - g.pad, column = ow * g.stride + tap % g.kw - g.pad;
    if (row < 0 || row >= g.h || column < 0 || column >= g.w) return nullptr;
    return x + ((image * g.h + row) * g.w + column) * g.c;
  }
};
struct WindowsOfDy {  // conv2d_grad_x: row r is a pixel of x
  Conv2dGeometry g;
  const float* dy;
  __device__ const float* operator()(std::int64_t r, std::int64_t tap) const {
    const std::int64_t w = r % g.w, h = r / g.w % g.h, image = r / (g.w * g.h);
    const std::int64_t top = h + g.pad - tap / g.kw, left = w + g.pad - tap % g.kw;
    if (top % g.stride != 0 || left % g.stride != 0) return nullptr;
    const std::int64_t oh = top / g.stride, ow = left / g.stride;
    if (top < 0 || left < 0 || oh >= g.oh || ow >= g.ow) return nullptr;
    return dy + ((image * g.oh + oh) * g.ow + ow) * g.o;
  }
};
struct WeightsByOutput {  // conv2d: row r is an output of the group
  const float* w;
  std::int64_t taps, channels;
  __device__ const float* operator()(std::int64_t r, std::int64_t tap) const { return w + (r * taps + tap) * channels; }
};
struct WeightsByChannel {  // conv2d_grad_x: row r is a channel of the group, the outputs are taps · channels apart
  const float* w;
  std::int64_t channels;
  __device__ const float* operator()(std::int64_t r, std::int64_t tap) const { return w + tap * channels + r; }
};

// One warp for each block of a row. A block that is not there has scale 0.
template <int n, class Where>
__global__ void __launch_bounds__(kDigitizeThreads)
    DigitizeTaps(Where where, std::int64_t first_row, std::int64_t rows, std::int64_t taps, std::int64_t channels,
                 std::int64_t stride, DigitRows out) {
  const int lane = threadIdx.x % 32;
  const std::int64_t pieces = (channels + kBlock - 1) / kBlock, blocks = taps * pieces, work = rows * blocks;
  const std::int64_t warps = std::int64_t{gridDim.x} * (kDigitizeThreads / 32);
  for (std::int64_t w = std::int64_t{blockIdx.x} * (kDigitizeThreads / 32) + threadIdx.x / 32; w < work; w += warps) {
    const std::int64_t block = w % blocks, row = w / blocks, channel = block % pieces * kBlock + lane * 8;
    const float* const from = where(first_row + row, block / pieces);
    float x[8];
    std::uint32_t largest = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      x[i] = from != nullptr && channel + i < channels ? __ldg(from + (channel + i) * stride) : 0.0f;
      largest = max(largest, Magnitude(x[i]));
    }
    const std::uint32_t exponent = numerics::DigitExponent(__reduce_max_sync(0xffffffffu, largest));
    const float factor = numerics::DigitFactor(exponent, n);
    std::uint32_t low[4], high[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      low[i] = exponent == 0 ? 0 : DigitsOf(x[i], factor);
      high[i] = exponent == 0 ? 0 : DigitsOf(x[i + 4], factor);
    }
#pragma unroll
    for (int d = 0; d < n; ++d) {
      auto* const to =
          reinterpret_cast<uint2*>(out.digits + (std::int64_t{d} * out.rows + row) * out.depth + block * kBlock + lane * 8);
      *to = make_uint2(Gather(low, d), Gather(high, d));
    }
    if (lane == 0) out.scales[block * out.rows + row] = from == nullptr ? 0.0f : numerics::DigitScale(exponent, n);
  }
}

template <int n, class Where>
void CutTaps(const Where& where, std::int64_t first_row, std::int64_t rows, std::int64_t taps, std::int64_t channels,
             std::int64_t stride, const DigitRows& out, Context& context) {
  const std::int64_t work = rows * taps * CeilDiv(channels, kBlock);
  DigitizeTaps<n, Where><<<GridFor(work, kDigitizeThreads / 32), kDigitizeThreads, 0, context.stream()>>>(
      where, first_row, rows, taps, channels, stride, out);
  CheckLaunch("digits of a convolution");
}

// The greatest magnitude of each channel of each image, for conv2d_grad_w.
__global__ void LargestOfImages(const float* x, std::int64_t images, std::int64_t pixels, std::int64_t channels,
                                std::uint32_t* largest) {
  for (std::int64_t i = GlobalThread<std::int64_t>(); i < images * channels; i += GlobalThreads<std::int64_t>()) {
    const std::int64_t image = i / channels, channel = i % channels;
    std::uint32_t most = 0;
    for (std::int64_t p = 0; p < pixels; ++p) most = max(most, Magnitude(__ldg(x + (image * pixels + p) * channels + channel)));
    largest[i] = most;
  }
}

// conv2d_grad_w. Value k of row r is of window k of an image: dy's output r there, or what tap r / channels meets of x in channel r mod channels.
struct OutputsOfDy {
  Conv2dGeometry g;
  const float* dy;  // of the group's first output
  __device__ std::int64_t Channel(std::int64_t r) const { return r; }
  __device__ float operator()(std::int64_t r, std::int64_t image, std::int64_t window) const {
    return __ldg(dy + (image * g.oh * g.ow + window) * g.o + r);
  }
};
struct TapsOfX {
  Conv2dGeometry g;
  const float* x;  // of the group's first channel
  __device__ std::int64_t Channel(std::int64_t r) const { return r % g.group_c(); }
  __device__ float operator()(std::int64_t r, std::int64_t image, std::int64_t window) const {
    const std::int64_t tap = r / g.group_c();
    const std::int64_t row = window / g.ow * g.stride + tap / g.kw - g.pad,
                       column = window % g.ow * g.stride + tap % g.kw - g.pad;
    if (row < 0 || row >= g.h || column < 0 || column >= g.w) return 0.0f;
    return __ldg(x + ((image * g.h + row) * g.w + column) * g.c + r % g.group_c());
  }
};

// A thread block for each block of K of 32 rows, a thread for 32 values of one row.
template <int n, class Values>
__global__ void __launch_bounds__(kDigitizeThreads)
    DigitizeImages(Values values, std::int64_t rows, std::int64_t images, std::int64_t windows, const std::uint32_t* largest,
                   std::int64_t channels, DigitRows out) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const std::int64_t pieces = (windows + kBlock - 1) / kBlock, groups = (rows + 31) / 32, work = groups * images * pieces;
  for (std::int64_t w = blockIdx.x; w < work; w += gridDim.x) {
    const std::int64_t r = w % groups * 32 + lane, block = w / groups, image = block / pieces,
                       first = block % pieces * kBlock + warp * 32;
    if (r >= rows) continue;
    const std::uint32_t exponent = numerics::DigitExponent(largest[image * channels + values.Channel(r)]);
    const float factor = numerics::DigitFactor(exponent, n);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      std::uint32_t q[4][4];
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const std::int64_t window = first + 16 * half + i;
        q[i / 4][i % 4] = window < windows && exponent != 0 ? DigitsOf(values(r, image, window), factor) : 0;
      }
#pragma unroll
      for (int d = 0; d < n; ++d) {
        auto* const to = reinterpret_cast<uint4*>(out.digits + (std::int64_t{d} * out.rows + r) * out.depth + block * kBlock +
                                                  warp * 32 + 16 * half);
        *to = make_uint4(Gather(q[0], d), Gather(q[1], d), Gather(q[2], d), Gather(q[3], d));
      }
    }
    if (warp == 0) out.scales[block * out.rows + r] = numerics::DigitScale(exponent, n);
  }
}

template <int n, class Values>
void CutImages(const Values& values, std::int64_t rows, const Conv2dGeometry& g, const std::uint32_t* largest,
               std::int64_t channels, const DigitRows& out, Context& context) {
  const std::int64_t windows = g.oh * g.ow, work = CeilDiv(rows, 32) * g.n * CeilDiv(windows, kBlock);
  DigitizeImages<n, Values>
      <<<GridFor(work, 1), kDigitizeThreads, 0, context.stream()>>>(values, rows, g.n, windows, largest, channels, out);
  CheckLaunch("digits of a convolution");
}

// Product of windows, some at a time, with weights, group by group. Windows: which of a group; Weights: likewise.
struct Forms {
  std::int64_t rows, columns;           // of the result: windows, and what is computed of each in one group
  std::int64_t taps, channels, groups;  // K: channels of the group at each tap
  std::int64_t weight_stride;           // of the channels of the weights
};
template <int n, class Windows, class Weights>
void MultiplyTaps(const Forms& f, const Windows& windows, const Weights& weights, float* out, Context& context) {
  const std::int64_t depth = f.taps * PaddedDepth(f.channels);
  const std::int64_t step = std::min(f.rows, std::max<std::int64_t>(384, kMostWindowBytes / (n * depth) / 384 * 384));
  DigitGemm gemm{.n = f.columns, .blocks = static_cast<int>(depth / kBlock), .stride = f.columns * f.groups, .lacks = true};
  const auto take = [&](Scratch& scratch) {
    gemm.a = scratch.TakeRows(1, step, depth, n);
    gemm.b = scratch.TakeRows(1, f.columns, depth, n);
    TakeForProduct(scratch, gemm, n, context);
  };
  Scratch counted;
  take(counted);
  Scratch scratch(context.Scratch(counted.used()));
  take(scratch);
  for (std::int64_t group = 0; group < f.groups; ++group) {
    CutTaps<n>(weights(group), 0, f.columns, f.taps, f.channels, f.weight_stride, gemm.b, context);
    for (std::int64_t first = 0; first < f.rows; first += step) {
      gemm.m = std::min(step, f.rows - first);
      CutTaps<n>(windows(group), first, gemm.m, f.taps, f.channels, 1, gemm.a, context);
      gemm.out = out + first * gemm.stride + group * f.columns;
      Multiply(gemm, n, context);
    }
  }
}

template <int n>
void Forward(const KernelArgs& args, Context& context) {
  const Conv2dGeometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t taps = g.kh * g.kw, channels = g.group_c();
  MultiplyTaps<n>(
      {g.n * g.oh * g.ow, g.group_o(), taps, channels, g.groups, 1},
      [&](std::int64_t group) { return WindowsOfX{g, args.In<float>(0) + group * channels}; },
      [&](std::int64_t group) {
        return WeightsByOutput{args.In<float>(1) + group * g.group_o() * taps * channels, taps, channels};
      },
      args.Out<float>(0), context);
}

template <int n>
void GradX(const KernelArgs& args, Context& context) {
  const Conv2dGeometry g = ops::GeometryOfConv2dGradX(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t taps = g.kh * g.kw, outputs = g.group_o();
  MultiplyTaps<n>(
      {g.n * g.h * g.w, g.group_c(), taps, outputs, g.groups, taps * g.group_c()},
      [&](std::int64_t group) { return WindowsOfDy{g, args.In<float>(0) + group * outputs}; },
      [&](std::int64_t group) {
        return WeightsByChannel{args.In<float>(1) + group * outputs * taps * g.group_c(), g.group_c()};
      },
      args.Out<float>(0), context);
}

template <int n>
void GradW(const KernelArgs& args, Context& context) {
  const Conv2dGeometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t windows = g.oh * g.ow, taps = g.kh * g.kw, columns = taps * g.group_c(),
                     depth = g.n * PaddedDepth(windows);
  DigitGemm gemm{.m = g.group_o(), .n = columns, .blocks = static_cast<int>(depth / kBlock), .stride = columns};
  std::uint32_t *of_x = nullptr, *of_dy = nullptr;
  const auto take = [&](Scratch& scratch) {
    of_x = scratch.Take<std::uint32_t>(g.n * g.c), of_dy = scratch.Take<std::uint32_t>(g.n * g.o);
    gemm.a = scratch.TakeRows(1, gemm.m, depth, n);
    gemm.b = scratch.TakeRows(1, gemm.n, depth, n);
    TakeForProduct(scratch, gemm, n, context);
  };
  Scratch counted;
  take(counted);
  Scratch scratch(context.Scratch(counted.used()));
  take(scratch);
  const float *x = args.In<float>(0), *dy = args.In<float>(1);
  LargestOfImages<<<GridFor(g.n * g.c, 256), 256, 0, context.stream()>>>(x, g.n, g.h * g.w, g.c, of_x);
  LargestOfImages<<<GridFor(g.n * g.o, 256), 256, 0, context.stream()>>>(dy, g.n, windows, g.o, of_dy);
  CheckLaunch("largest values of images");
  for (std::int64_t group = 0; group < g.groups; ++group) {
    const std::int64_t o = group * g.group_o(), c = group * g.group_c();
    CutImages<n>(OutputsOfDy{g, dy + o}, gemm.m, g, of_dy + o, g.o, gemm.a, context);
    CutImages<n>(TapsOfX{g, x + c}, gemm.n, g, of_x + c, g.c, gemm.b, context);
    gemm.out = args.Out<float>(0) + o * columns;
    Multiply(gemm, n, context);
  }
}

}  // namespace

void Conv2d(const KernelArgs& args, Context& context) {
  ops::DigitsOf(*args.op) == 3 ? Forward<3>(args, context) : Forward<2>(args, context);
}
void Conv2dGradX(const KernelArgs& args, Context& context) {
  ops::DigitsOf(*args.op) == 3 ? GradX<3>(args, context) : GradX<2>(args, context);
}
void Conv2dGradW(const KernelArgs& args, Context& context) {
  ops::DigitsOf(*args.op) == 3 ? GradW<3>(args, context) : GradW<2>(args, context);
}

}  // namespace assay::cuda::digits
