// The poolings and their gradients by definition (docs/NUMERICS.md, section 5).
#include "assay/ops/pool_geometry.h"

#include "assay/numerics/reduce.h"
#include "assay/semantics/ref/pixels.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {
namespace {

using ops::PoolGeometry;

// Calls body(pixel) for the pixels of the window at `out`, rows first.
template <class Body>
void ForEachTap(const PoolGeometry& g, const Pixel& out, Body body) {
  const Range rows = g.h.Pixels({out.h, out.h + 1});
  const Range cols = g.w.Pixels({out.w, out.w + 1});
  for (std::int64_t h = rows.begin; h < rows.end; ++h) {
    for (std::int64_t w = cols.begin; w < cols.end; ++w) body(Pixel{out.n, h, w, out.c});
  }
}

// Calls body(window) for the windows that contain the pixel, rows first.
template <class Body>
void ForEachWindow(const PoolGeometry& g, const Pixel& pixel, Body body) {
  const Range rows = g.h.Windows({pixel.h, pixel.h + 1});
  const Range cols = g.w.Windows({pixel.w, pixel.w + 1});
  for (std::int64_t h = rows.begin; h < rows.end; ++h) {
    for (std::int64_t w = cols.begin; w < cols.end; ++w) body(Pixel{pixel.n, h, w, pixel.c});
  }
}

PoolGeometry Forward(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.in_type(0).shape, args.out_type(0).shape);
}

PoolGeometry Backward(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.out_type(0).shape, args.in_type(0).shape);
}

}  // namespace

void Ref_max_pool2d(const KernelArgs& args, int output, Range range) {
  const PoolGeometry g = Forward(args);
  const Shape& shape = args.in_type(0).shape;
  const float* x = args.In<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    float best = 0.0f;
    std::int64_t argmax = -1;
    ForEachTap(g, PixelOf(i, args.out_type(0).shape), [&](const Pixel& p) {
      const float v = x[IndexOf(p, shape)];
      if (argmax >= 0 && !(v > best || (v != v && best == best))) return;
      best = v;
      argmax = p.h * shape[2] + p.w;
    });
    if (output == 0) {
      args.Out<float>(0)[i] = best;
    } else {
      args.Out<std::int32_t>(1)[i] = static_cast<std::int32_t>(argmax);
    }
  }
}

void Ref_max_pool2d_grad(const KernelArgs& args, int, Range range) {
  const PoolGeometry g = Backward(args);
  const Shape& pooled = args.in_type(0).shape;
  const Shape& image = args.out_type(0).shape;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const Pixel pixel = PixelOf(i, image);
    float acc = 0.0f;
    ForEachWindow(g, pixel, [&](const Pixel& window) {
      const std::int64_t k = IndexOf(window, pooled);
      if (args.In<std::int32_t>(1)[k] == pixel.h * image[2] + pixel.w) acc = acc + args.In<float>(0)[k];
    });
    args.Out<float>(0)[i] = acc;
  }
}

void Ref_avg_pool2d(const KernelArgs& args, int, Range range) {
  const PoolGeometry g = Forward(args);
  const Shape& shape = args.in_type(0).shape;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    float acc = 0.0f;
    ForEachTap(g, PixelOf(i, args.out_type(0).shape),
               [&](const Pixel& p) { acc = acc + args.In<float>(0)[IndexOf(p, shape)]; });
    args.Out<float>(0)[i] = acc / g.window();
  }
}

void Ref_avg_pool2d_grad(const KernelArgs& args, int, Range range) {
  const PoolGeometry g = Backward(args);
  const Shape& pooled = args.in_type(0).shape;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    float acc = 0.0f;
    ForEachWindow(g, PixelOf(i, args.out_type(0).shape),
                  [&](const Pixel& window) { acc = acc + args.In<float>(0)[IndexOf(window, pooled)]; });
    args.Out<float>(0)[i] = acc / g.window();
  }
}

void Ref_global_avg_pool(const KernelArgs& args, int, Range range) {
  const Shape& shape = args.in_type(0).shape;
  const std::int64_t pixels = shape[1] * shape[2];
  const std::int64_t channels = shape[3];
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const float* x = args.In<float>(0) + i / channels * pixels * channels + i % channels;
    const float sum = numerics::ColSum(pixels, [&](std::int64_t p) { return x[p * channels]; });
    args.Out<float>(0)[i] = sum / static_cast<float>(pixels);
  }
}

void Ref_global_avg_pool_grad(const KernelArgs& args, int, Range range) {
  const Shape& shape = args.out_type(0).shape;
  const std::int64_t pixels = shape[1] * shape[2];
  const std::int64_t channels = shape[3];
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const float dy = args.In<float>(0)[i / (pixels * channels) * channels + i % channels];
    args.Out<float>(0)[i] = dy / static_cast<float>(pixels);
  }
}

}  // namespace assay::ref
