// conv2d and its gradients as products, one per group, of an image that is unfolded in scratch memory. A tap outside an image takes part with zero.
#include <algorithm>

#include "assay/backend/cublas/contraction.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/ops/conv2d_windows.h"

namespace assay::cublas {
namespace {

using Geometry = ops::Conv2dGeometry;
using ops::ForwardWindows;
using ops::ResidueClass;
using ops::Windows;

// to[window][tap h, tap w, channel]
template <class T>
__global__ void Unfold(Windows windows, std::int64_t n, std::int64_t size, T* to) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const std::int64_t window = i / size, place = i - window * size;
    const std::int64_t tap = place / windows.channels, channel = place - tap * windows.channels;
    const std::int64_t column = window % windows.columns, row = window / windows.columns % windows.rows;
    const std::int64_t image = window / windows.columns / windows.rows;
    const std::int64_t h = row * windows.step + windows.h.at(tap / windows.w.count);
    const std::int64_t w = column * windows.step + windows.w.at(tap % windows.w.count);
    const bool inside = h >= 0 && h < windows.height && w >= 0 && w < windows.width;
    to[i] = inside ? T{windows.image[((image * windows.height + h) * windows.width + w) * windows.pixel + channel]} : T{0};
  }
}

// The squares of a group's channels of every pixel: a warp takes a pixel.
__global__ void PixelSquares(Windows windows, std::int64_t pixels, double* squares) {
  const std::int64_t pixel = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (pixel >= pixels) return;
  double sum = 0;
  for (std::int64_t c = threadIdx.x % 32; c < windows.channels; c += 32) {
    const double x = windows.image[pixel * windows.pixel + c];
    sum += x * x;
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0) squares[pixel] = sum;
}

// The norms of windows from those.
__global__ void WindowNorms(Windows windows, std::int64_t count, const double* squares, double* norms) {
  const std::int64_t window = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (window >= count) return;
  const std::int64_t column = window % windows.columns, row = window / windows.columns % windows.rows;
  const std::int64_t image = window / windows.columns / windows.rows;
  double sum = 0;
  for (std::int64_t t = 0; t < windows.h.count; ++t) {
    const std::int64_t h = row * windows.step + windows.h.at(t);
    if (h < 0 || h >= windows.height) continue;
    for (std::int64_t u = 0; u < windows.w.count; ++u) {
      const std::int64_t w = column * windows.step + windows.w.at(u);
      if (w >= 0 && w < windows.width) sum += squares[(image * windows.height + h) * windows.width + w];
    }
  }
  norms[window] = sqrt(sum);
}

// The squares of a tap and channel over `share` rows of windows: 32 channels a block, its warps share the rows. squares[share][tap, channel]
__global__ void TapSquares(Windows windows, std::int64_t rows, std::int64_t share, double* squares) {
  __shared__ double sums[32][33];
  const std::int64_t tiles = (windows.channels + 31) / 32, tap = blockIdx.x / tiles, tile = blockIdx.x % tiles * 32;
  const std::int64_t channel = tile + threadIdx.x, end = min((blockIdx.y + 1) * share, rows);
  const std::int64_t of_h = windows.h.at(tap / windows.w.count);
  const std::int64_t of_w = windows.w.at(tap % windows.w.count);
  double sum = 0;
  if (channel < windows.channels) {
    for (std::int64_t row = blockIdx.y * share + threadIdx.y; row < end; row += 32) {
      const std::int64_t image = row / windows.rows, h = (row - image * windows.rows) * windows.step + of_h;
      if (h < 0 || h >= windows.height) continue;
      const float* pixels = windows.image + (image * windows.height + h) * windows.width * windows.pixel + channel;
      for (std::int64_t w = of_w, left = windows.columns; left > 0; --left, w += windows.step) {
        if (w < 0 || w >= windows.width) continue;
        const double x = pixels[w * windows.pixel];
        sum += x * x;
      }
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  double total = sums[threadIdx.x][threadIdx.y];
  for (int step = 16; step > 0; step /= 2) total += __shfl_xor_sync(0xffffffffu, total, step);
  const std::int64_t mine = tile + threadIdx.y;
  if (threadIdx.x == 0 && mine < windows.channels) {
    squares[(blockIdx.y * windows.h.count * windows.w.count + tap) * windows.channels + mine] = total;
  }
}

__global__ void RootsOfShares(const double* squares, std::int64_t shares, std::int64_t n, double* norms) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (std::int64_t share = 0; share < shares; ++share) sum += squares[share * n + i];
  norms[i] = sqrt(sum);
}

// Weights [o, kh, kw, c] of a group as to[tap h, tap w, o][c], for the taps first + t * stride of each axis.
struct WeightTaps {
  const float* weights = nullptr;
  std::int64_t outputs = 0, kw = 0, window = 0, channels = 0;
  std::int64_t first_h = 0, first_w = 0, stride = 1, count_w = 0;
};

template <class T>
__global__ void GatherWeights(WeightTaps taps, std::int64_t n, T* to) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    const std::int64_t channel = i % taps.channels, o = i / taps.channels % taps.outputs,
                       tap = i / taps.channels / taps.outputs;
    const std::int64_t h = taps.first_h + tap / taps.count_w * taps.stride, w = taps.first_w + tap % taps.count_w * taps.stride;
    to[i] = T{taps.weights[(o * taps.window + h * taps.kw + w) * taps.channels + channel]};
  }
}

// Where the pixels of one residue class per axis lie in dx.
__global__ void PixelRows(Geometry g, std::int64_t residue_h, std::int64_t residue_w, std::int64_t rows, std::int64_t columns,
                          std::int64_t* to) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= g.n * rows * columns) return;
  const std::int64_t w = residue_w + i % columns * g.stride, h = residue_h + i / columns % rows * g.stride;
  to[i] = ((i / columns / rows * g.h + h) * g.w + w) * g.c;
}

// Scratch that holds operands as T: those that are floats in memory already need none of it.
template <class T>
class OperandScratch {
 public:
  explicit OperandScratch(Context& context) : stream_(context.stream()) {}

  // What follows is called twice, first without memory to count.
  void Place(void* memory) { cut_ = Cutter(memory); }
  std::size_t bytes() const { return cut_.used(); }

  const T* Whole(const float* from, std::int64_t n, bool run) {
    if constexpr (sizeof(T) == sizeof(float)) return from;
    T* to = cut_.template Take<T>(n);
    if constexpr (sizeof(T) == sizeof(double)) {
      if (run) Widen(from, n, to, stream_);
    }
    return to;
  }
  const T* Unfolded(const Windows& windows, bool run) {
    const std::int64_t size = windows.size(), n = windows.count() * size;
    T* to = cut_.template Take<T>(n);
    if (run && n > 0) {
      Unfold<<<cuda::GridFor(n, kThreads), kThreads, 0, stream_>>>(windows, n, size, to);
      cuda::CheckLaunch("Unfold");
    }
    return to;
  }
  const T* Gathered(const WeightTaps& taps, std::int64_t n, bool run) {
    T* to = cut_.template Take<T>(n);
    if (run && n > 0) {
      GatherWeights<<<cuda::GridFor(n, kThreads), kThreads, 0, stream_>>>(taps, n, to);
      cuda::CheckLaunch("GatherWeights");
    }
    return to;
  }
  const std::int64_t* Rows(const Geometry& g, std::int64_t residue_h, std::int64_t residue_w, const ResidueClass& h,
                           const ResidueClass& w, bool run) {
    const std::int64_t n = g.n * h.pixels * w.pixels;
    std::int64_t* to = cut_.Take<std::int64_t>(n);
    if (run && n > 0) {
      PixelRows<<<cuda::GridFor(n, kThreads), kThreads, 0, stream_>>>(g, residue_h, residue_w, h.pixels, w.pixels, to);
      cuda::CheckLaunch("PixelRows");
    }
    return to;
  }
  // As Whole, with the norms of its lines where they are wanted. All of it is lines.
  const T* WholeWithNorms(const DenseLines& lines, bool wanted, const double** norms, bool run) {
    if constexpr (sizeof(T) == sizeof(double)) {
      if (wanted) {
        T* to = cut_.template Take<T>(lines.count * lines.k);
        double* squares = cut_.Take<double>(ScratchOfNorms(1, lines.count));
        double* of_lines = cut_.Take<double>(lines.count);
        if (run) WidenWithNorms(lines, to, squares, of_lines, stream_);
        *norms = of_lines;
        return to;
      }
    }
    return Whole(lines.from, lines.count * lines.k, run);
  }
  // Of windows as lines.
  const double* NormsOf(const Windows& windows, bool run) {
    const std::int64_t pixels = windows.images * windows.height * windows.width, count = windows.count();
    double* squares = cut_.Take<double>(pixels);
    double* norms = cut_.Take<double>(count);
    if (run && count > 0) {
      PixelSquares<<<cuda::GridFor(pixels, kThreads / 32), kThreads, 0, stream_>>>(windows, pixels, squares);
      WindowNorms<<<cuda::GridFor(count, kThreads), kThreads, 0, stream_>>>(windows, count, squares, norms);
      cuda::CheckLaunch("NormsOf");
    }
    return norms;
  }
  // Of the taps of windows as lines.
  const double* NormsOfTaps(const Windows& windows, bool run) {
    const std::int64_t n = windows.size(), rows = windows.images * windows.rows;
    const std::int64_t shares = std::clamp<std::int64_t>(rows / 64, 1, 32), share = cuda::CeilDiv(rows, shares);
    double* squares = cut_.Take<double>(shares * n);
    double* norms = cut_.Take<double>(n);
    if (run && n > 0) {
      const std::int64_t blocks = windows.h.count * windows.w.count * cuda::CeilDiv(windows.channels, 32);
      TapSquares<<<dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(shares)), dim3(32, 32), 0, stream_>>>(
          windows, rows, share, squares);
      RootsOfShares<<<cuda::GridFor(n, kThreads), kThreads, 0, stream_>>>(squares, shares, n, norms);
      cuda::CheckLaunch("NormsOfTaps");
    }
    return norms;
  }
  void* Rest(std::size_t bytes) { return cut_.Take<char>(static_cast<std::int64_t>(bytes)); }

 private:
  cudaStream_t stream_;
  Cutter cut_;
};

// Calls body(operands, run) to count the scratch it takes, then to run.
template <class T, class Body>
void WithScratch(Context& context, const Body& body) {
  OperandScratch<T> operands(context);
  body(operands, false);
  void* memory = context.Scratch(operands.bytes());
  operands.Place(memory);
  body(operands, true);
}

template <class T>
void Forward(const KernelArgs& args, const Sink& sink, Context& context) {
  const Geometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t depth = g.kh * g.kw * g.group_c();
  WithScratch<T>(context, [&](OperandScratch<T>& operands, bool run) {
    const bool norms = sink.bounded() && g.groups == 1;
    const double *norms_a = nullptr, *norms_b = nullptr;
    const T* weights = operands.WholeWithNorms({args.In<float>(1), 1, g.o, depth, true}, norms, &norms_b, run);
    const T* image = nullptr;
    if (IsPlain(g)) {
      image = operands.WholeWithNorms({args.In<float>(0), 1, g.n * g.h * g.w, g.c, true}, norms, &norms_a, run);
    } else if (norms) {
      norms_a = operands.NormsOf(ForwardWindows(g, args.In<float>(0)), run);
    }
    for (std::int64_t group = 0; group < g.groups; ++group) {
      const Products products{.m = g.n * g.oh * g.ow,
                              .n = g.group_o(),
                              .k = depth,
                              .origin = group * g.group_o(),
                              .row_stride = g.o,
                              .norms_a = norms_a,
                              .norms_b = norms_b};
      const std::int64_t channel = group * g.group_c();
      const T* lines = IsPlain(g) ? image + channel : operands.Unfolded(ForwardWindows(g, args.In<float>(0) + channel), run);
      void* rest = operands.Rest(ScratchOfProducts<T>(products, sink.bounded()));
      if (!run) continue;
      RunProducts<T>(products, {lines, IsPlain(g) ? g.c : depth, true}, {weights + group * g.group_o() * depth, depth, true},
                     sink, rest, context);
    }
  });
}

template <class T>
void GradX(const KernelArgs& args, const Sink& sink, Context& context) {
  const Geometry g = ops::GeometryOfConv2dGradX(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const bool plain = IsPlain(g);
  WithScratch<T>(context, [&](OperandScratch<T>& operands, bool run) {
    const double* norms_a = nullptr;
    const T* image = nullptr;
    if (plain) {
      image = operands.WholeWithNorms({args.In<float>(0), 1, g.n * g.h * g.w, g.o, true}, sink.bounded() && g.groups == 1,
                                      &norms_a, run);
    }
    for (std::int64_t group = 0; group < g.groups; ++group) {
      const std::int64_t channel = group * g.group_o();
      for (std::int64_t residue_h = 0; residue_h < std::min(g.stride, g.h); ++residue_h) {
        for (std::int64_t residue_w = 0; residue_w < std::min(g.stride, g.w); ++residue_w) {
          const ResidueClass h(residue_h, g.h, g.kh, g.stride, g.pad), w(residue_w, g.w, g.kw, g.stride, g.pad);
          const Windows windows = ops::GradXWindows(g, h, w, args.In<float>(0) + channel);
          const WeightTaps taps{.weights = args.In<float>(1) + channel * g.kh * g.kw * g.group_c(),
                                .outputs = g.group_o(),
                                .kw = g.kw,
                                .window = g.kh * g.kw,
                                .channels = g.group_c(),
                                .first_h = h.first,
                                .first_w = w.first,
                                .stride = g.stride,
                                .count_w = w.count};
          Products products{
              .m = windows.count(), .n = g.group_c(), .k = windows.size(), .origin = group * g.group_c(), .row_stride = g.c};
          const T* lines = plain ? image + channel : operands.Unfolded(windows, run);
          const T* weights = operands.Gathered(taps, products.k * products.n, run);
          products.norms_a = norms_a;
          if (sink.bounded() && !plain) products.norms_a = operands.NormsOf(windows, run);
          if (g.stride > 1) products.rows = operands.Rows(g, residue_h, residue_w, h, w, run);
          void* rest = operands.Rest(ScratchOfProducts<T>(products, sink.bounded()));
          if (run)
            RunProducts<T>(products, {lines, plain ? g.o : products.k, true}, {weights, products.n, false}, sink, rest,
                           context);
        }
      }
    }
  });
}

template <class T>
void GradW(const KernelArgs& args, const Sink& sink, Context& context) {
  const Geometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t window = g.kh * g.kw * g.group_c();
  WithScratch<T>(context, [&](OperandScratch<T>& operands, bool run) {
    const bool norms = sink.bounded() && g.groups == 1;
    const double *norms_a = nullptr, *norms_b = nullptr;
    const std::int64_t pixels = g.n * g.oh * g.ow;
    const T* dy = operands.WholeWithNorms({args.In<float>(1), 1, g.o, pixels, false}, norms, &norms_a, run);
    const T* image = nullptr;
    if (IsPlain(g)) {
      image = operands.WholeWithNorms({args.In<float>(0), 1, g.c, pixels, false}, norms, &norms_b, run);
    } else if (norms) {
      norms_b = operands.NormsOfTaps(ForwardWindows(g, args.In<float>(0)), run);
    }
    for (std::int64_t group = 0; group < g.groups; ++group) {
      const Products products{.m = g.group_o(),
                              .n = window,
                              .k = pixels,
                              .origin = group * g.group_o() * window,
                              .row_stride = window,
                              .norms_a = norms_a,
                              .norms_b = norms_b};
      const std::int64_t channel = group * g.group_c();
      const T* taps = IsPlain(g) ? image + channel : operands.Unfolded(ForwardWindows(g, args.In<float>(0) + channel), run);
      void* rest = operands.Rest(ScratchOfProducts<T>(products, sink.bounded()));
      if (!run) continue;
      RunProducts<T>(products, {dy + group * g.group_o(), g.o, false}, {taps, IsPlain(g) ? g.c : window, false}, sink, rest,
                     context);
    }
  });
}

}  // namespace

void Run_conv2d(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  context.single() ? Forward<float>(args, sinks[0], context) : Forward<double>(args, sinks[0], context);
}
void Run_conv2d_grad_x(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  context.single() ? GradX<float>(args, sinks[0], context) : GradX<double>(args, sinks[0], context);
}
void Run_conv2d_grad_w(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  context.single() ? GradW<float>(args, sinks[0], context) : GradW<double>(args, sinks[0], context);
}

}  // namespace assay::cublas
