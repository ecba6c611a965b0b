// The poolings and their gradients: pixels outside, the channels of a pixel inside.
#include <vector>

#include "assay/ops/pool_geometry.h"
#include "assay/semantics/rounded/column_sum.h"
#include "assay/semantics/rounded/formula_loops.h"
#include "assay/semantics/rounded/max_pool.h"

namespace assay::rounded {
namespace {

using ops::PoolGeometry;

PoolGeometry Forward(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.in_type(0).shape, args.out_type(0).shape);
}

PoolGeometry Backward(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.out_type(0).shape, args.in_type(0).shape);
}

// A pixel of an image [N, H, W], which are counted through.
struct Pixel {
  Pixel(std::int64_t pixel, std::int64_t height, std::int64_t width)
      : image(pixel / (height * width)), h(pixel / width % height), w(pixel % width) {}
  std::int64_t image, h, w;
};

// Where in an image of the given height and width the pixels `rows` x `cols` are; their first channels.
void Offsets(std::int64_t image, Range rows, Range cols, std::int64_t height, std::int64_t width, std::int64_t channels,
             std::vector<std::int64_t>& offsets) {
  offsets.clear();
  for (std::int64_t h = rows.begin; h < rows.end; ++h) {
    for (std::int64_t w = cols.begin; w < cols.end; ++w) offsets.push_back(((image * height + h) * width + w) * channels);
  }
}

void TapsOf(const PoolGeometry& g, std::int64_t window, std::vector<std::int64_t>& offsets) {
  const Pixel p(window, g.h.out, g.w.out);
  Offsets(p.image, g.h.Pixels({p.h, p.h + 1}), g.w.Pixels({p.w, p.w + 1}), g.h.in, g.w.in, g.channels, offsets);
}

void WindowsOf(const PoolGeometry& g, std::int64_t pixel, std::vector<std::int64_t>& offsets) {
  const Pixel p(pixel, g.h.in, g.w.in);
  Offsets(p.image, g.h.Windows({p.h, p.h + 1}), g.w.Windows({p.w, p.w + 1}), g.h.out, g.w.out, g.channels, offsets);
}

// The sum of x at the offsets, for channels `channels`, divided by the size of a window.
template <class T>
void Average(const PoolGeometry& g, const float* x, const std::vector<std::int64_t>& offsets, Range channels, T* out) {
  const auto term = [&](std::int64_t k, std::int64_t c) { return T(x[offsets[static_cast<std::size_t>(k)] + c]); };
  ColumnSums(static_cast<std::int64_t>(offsets.size()), channels, term, out);
  const T count(g.window());
  for (std::int64_t c = 0; c < channels.size(); ++c) out[c] = out[c] / count;
}

}  // namespace

MaxTap MaxOf(const PoolGeometry& g, const float* x, std::int64_t window, std::int64_t channel) {
  const Pixel p(window, g.h.out, g.w.out);
  const Range rows = g.h.Pixels({p.h, p.h + 1}), cols = g.w.Pixels({p.w, p.w + 1});
  MaxTap best{.value = 0.0f, .pixel = -1};
  for (std::int64_t h = rows.begin; h < rows.end; ++h) {
    for (std::int64_t w = cols.begin; w < cols.end; ++w) {
      const float v = x[((p.image * g.h.in + h) * g.w.in + w) * g.channels + channel];
      if (best.pixel >= 0 && !(v > best.value || (v != v && best.value == best.value))) continue;
      best = {.value = v, .pixel = h * g.w.in + w};
    }
  }
  return best;
}

template <class T>
void Formula_max_pool2d(const KernelArgs& args, int, Range range, T* out) {
  const PoolGeometry g = Forward(args);
  const float* x = args.In<float>(0);
  ForEachRow(range, g.channels, out, [&](std::int64_t window, std::int64_t begin, std::int64_t end, T* y) {
    for (std::int64_t c = begin; c < end; ++c) y[c - begin] = T(MaxOf(g, x, window, c).value);
  });
}

template <class T>
void Formula_max_pool2d_grad(const KernelArgs& args, int, Range range, T* out) {
  const PoolGeometry g = Backward(args);
  const float* dy = args.In<float>(0);
  const std::int32_t* argmax = args.In<std::int32_t>(1);
  std::vector<std::int64_t> windows;
  std::vector<float> taken;
  ForEachRow(range, g.channels, out, [&](std::int64_t pixel, std::int64_t begin, std::int64_t end, T* dx) {
    WindowsOf(g, pixel, windows);
    const std::int64_t place = pixel % (g.h.in * g.w.in);
    for (std::int64_t c = begin; c < end; ++c) {
      taken.clear();
      for (const std::int64_t window : windows) {
        if (argmax[window + c] == place) taken.push_back(dy[window + c]);
      }
      const auto term = [&](std::int64_t k, std::int64_t) { return T(taken[static_cast<std::size_t>(k)]); };
      ColumnSums(static_cast<std::int64_t>(taken.size()), {c, c + 1}, term, dx + (c - begin));
    }
  });
}

template <class T>
void Formula_avg_pool2d(const KernelArgs& args, int, Range range, T* out) {
  const PoolGeometry g = Forward(args);
  std::vector<std::int64_t> taps;
  ForEachRow(range, g.channels, out, [&](std::int64_t window, std::int64_t begin, std::int64_t end, T* y) {
    TapsOf(g, window, taps);
    Average(g, args.In<float>(0), taps, {begin, end}, y);
  });
}

template <class T>
void Formula_avg_pool2d_grad(const KernelArgs& args, int, Range range, T* out) {
  const PoolGeometry g = Backward(args);
  std::vector<std::int64_t> windows;
  ForEachRow(range, g.channels, out, [&](std::int64_t pixel, std::int64_t begin, std::int64_t end, T* dx) {
    WindowsOf(g, pixel, windows);
    Average(g, args.In<float>(0), windows, {begin, end}, dx);
  });
}

template <class T>
void Formula_global_avg_pool(const KernelArgs& args, int, Range range, T* out) {
  const Shape& shape = args.in_type(0).shape;
  const std::int64_t pixels = shape[1] * shape[2], channels = shape[3];
  const T count = Count<T>(pixels);
  ForEachRow(range, channels, out, [&](std::int64_t image, std::int64_t begin, std::int64_t end, T* y) {
    const float* x = args.In<float>(0) + image * pixels * channels;
    ColumnSums(pixels, {begin, end}, [&](std::int64_t p, std::int64_t c) { return T(x[p * channels + c]); }, y);
    for (std::int64_t c = begin; c < end; ++c) y[c - begin] = y[c - begin] / count;
  });
}

template <class T>
void Formula_global_avg_pool_grad(const KernelArgs& args, int, Range range, T* out) {
  const Shape& shape = args.out_type(0).shape;
  const std::int64_t pixels = shape[1] * shape[2], channels = shape[3];
  const T count = Count<T>(pixels);
  ForEachRow(range, channels, out, [&](std::int64_t pixel, std::int64_t begin, std::int64_t end, T* dx) {
    const float* dy = args.In<float>(0) + pixel / pixels * channels;
    for (std::int64_t c = begin; c < end; ++c) dx[c - begin] = T(dy[c]) / count;
  });
}

ASSAY_FORMULA(max_pool2d);
ASSAY_FORMULA(max_pool2d_grad);
ASSAY_FORMULA(avg_pool2d);
ASSAY_FORMULA(avg_pool2d_grad);
ASSAY_FORMULA(global_avg_pool);
ASSAY_FORMULA(global_avg_pool_grad);

}  // namespace assay::rounded
