// Kernels of the poolings and their gradients, vectorised over channels; lines of pixels are shared out.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/pool.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include "assay/backend/cpu/columns-inl.h"
#include "assay/backend/cpu/kernels.h"
#include "assay/backend/cpu/rows-inl.h"
#include "assay/ops/pool_geometry.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace {
using namespace rows;  // NOLINT
using ops::PoolGeometry;

// Calls body(image, h, w) for every pixel of `lines` lines of `width` pixels per image.
template <class Body>
HWY_INLINE void ForEachPixel(Context& context, std::int64_t images, std::int64_t lines, std::int64_t width,
                             std::int64_t channels, const Body& body) {
  context.pool().ParallelFor(images * lines, Grain(width * channels), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t line = begin; line < end; ++line) {
      for (std::int64_t w = 0; w < width; ++w) body(line / lines, line % lines, w);
    }
  });
}

// Calls body(offset, pixel) for the pixels of [rows, cols] of image n in order, with the pixel's number in its image and its first element.
template <class Body>
HWY_INLINE void ForEachTap(std::int64_t image, std::int64_t height, std::int64_t width, std::int64_t channels, Range lines,
                           Range cols, const Body& body) {
  for (std::int64_t h = lines.begin; h < lines.end; ++h) {
    for (std::int64_t w = cols.begin; w < cols.end; ++w) {
      const std::int64_t pixel = h * width + w;
      body((image * height * width + pixel) * channels, pixel);
    }
  }
}

PoolGeometry Forward(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.in_type(0).shape, args.out_type(0).shape);
}

PoolGeometry Backward(const KernelArgs& args) {
  return ops::PoolGeometryOf(args.attrs(), args.out_type(0).shape, args.in_type(0).shape);
}

}  // namespace

void Run_max_pool2d(const KernelArgs& args, Context& context) {
  const PoolGeometry g = Forward(args);
  const float* x = args.In<float>(0);
  ForEachPixel(
      context, g.images, g.h.out, g.w.out, g.channels, [&](std::int64_t image, std::int64_t oh, std::int64_t ow) HWY_ATTR {
        const Range lines = g.h.Pixels({oh, oh + 1});
        const Range cols = g.w.Pixels({ow, ow + 1});
        const std::int64_t at = ((image * g.h.out + oh) * g.w.out + ow) * g.channels;
        const std::int64_t first_pixel = lines.begin * g.w.in + cols.begin;
        const float* first = x + (image * g.h.in * g.w.in + first_pixel) * g.channels;
        ForEachVector(g.channels, [&](std::int64_t c, auto io) HWY_ATTR {
          // The first tap meets itself, which changes nothing.
          F best = io.Load(first + c);
          I argmax = S::SetI(static_cast<std::int32_t>(first_pixel));
          ForEachTap(image, g.h.in, g.w.in, g.channels, lines, cols, [&](std::int64_t offset, std::int64_t pixel) HWY_ATTR {
            const F v = io.Load(x + offset + c);
            const S::M better = S::Or(S::Gt(v, best), S::And(S::IsNan(v), S::Not(S::IsNan(best))));
            best = S::Select(better, v, best);
            argmax = S::SelectI(better, S::SetI(static_cast<std::int32_t>(pixel)), argmax);
          });
          io.Store(S::Canonical(best), args.Out<float>(0) + at + c);
          io.Store(argmax, args.Out<std::int32_t>(1) + at + c);
        });
      });
}

void Run_max_pool2d_grad(const KernelArgs& args, Context& context) {
  const PoolGeometry g = Backward(args);
  const float* dy = args.In<float>(0);
  const std::int32_t* argmax = args.In<std::int32_t>(1);
  ForEachPixel(context, g.images, g.h.in, g.w.in, g.channels, [&](std::int64_t image, std::int64_t h, std::int64_t w) HWY_ATTR {
    const Range lines = g.h.Windows({h, h + 1});
    const Range cols = g.w.Windows({w, w + 1});
    const std::int64_t pixel = h * g.w.in + w;
    const I mine = S::SetI(static_cast<std::int32_t>(pixel));
    float* dx = args.Out<float>(0) + (image * g.h.in * g.w.in + pixel) * g.channels;
    ForEachVector(g.channels, [&](std::int64_t c, auto io) HWY_ATTR {
      F acc = S::Set(0.0f);
      ForEachTap(image, g.h.out, g.w.out, g.channels, lines, cols, [&](std::int64_t offset, std::int64_t) HWY_ATTR {
        const S::M hit = S::EqI(io.Load(argmax + offset + c), mine);
        acc = S::Add(acc, hn::IfThenElseZero(hit, io.Load(dy + offset + c)));
      });
      io.Store(S::Canonical(acc), dx + c);
    });
  });
}

void Run_avg_pool2d(const KernelArgs& args, Context& context) {
  const PoolGeometry g = Forward(args);
  const F window = S::Set(g.window());
  const float* x = args.In<float>(0);
  ForEachPixel(context, g.images, g.h.out, g.w.out, g.channels,
               [&](std::int64_t image, std::int64_t oh, std::int64_t ow) HWY_ATTR {
                 const Range lines = g.h.Pixels({oh, oh + 1});
                 const Range cols = g.w.Pixels({ow, ow + 1});
                 float* y = args.Out<float>(0) + ((image * g.h.out + oh) * g.w.out + ow) * g.channels;
                 ForEachVector(g.channels, [&](std::int64_t c, auto io) HWY_ATTR {
                   F acc = S::Set(0.0f);
                   ForEachTap(image, g.h.in, g.w.in, g.channels, lines, cols,
                              [&](std::int64_t offset, std::int64_t) HWY_ATTR { acc = S::Add(acc, io.Load(x + offset + c)); });
                   io.Store(S::Canonical(S::Div(acc, window)), y + c);
                 });
               });
}

void Run_avg_pool2d_grad(const KernelArgs& args, Context& context) {
  const PoolGeometry g = Backward(args);
  const F window = S::Set(g.window());
  const float* dy = args.In<float>(0);
  ForEachPixel(context, g.images, g.h.in, g.w.in, g.channels, [&](std::int64_t image, std::int64_t h, std::int64_t w) HWY_ATTR {
    const Range lines = g.h.Windows({h, h + 1});
    const Range cols = g.w.Windows({w, w + 1});
    float* dx = args.Out<float>(0) + ((image * g.h.in + h) * g.w.in + w) * g.channels;
    ForEachVector(g.channels, [&](std::int64_t c, auto io) HWY_ATTR {
      F acc = S::Set(0.0f);
      ForEachTap(image, g.h.out, g.w.out, g.channels, lines, cols,
                 [&](std::int64_t offset, std::int64_t) HWY_ATTR { acc = S::Add(acc, io.Load(dy + offset + c)); });
      io.Store(S::Canonical(S::Div(acc, window)), dx + c);
    });
  });
}

void Run_global_avg_pool(const KernelArgs& args, Context& context) {
  const Shape& shape = args.in_type(0).shape;
  const std::int64_t pixels = shape[1] * shape[2];
  const std::int64_t channels = shape[3];
  const std::int64_t blocks = columns::Blocks(pixels);
  const F count = S::Set(static_cast<float>(pixels));
  context.pool().ParallelFor(
      shape[0], Grain(pixels * channels), [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
        const auto bytes = static_cast<std::size_t>(blocks * channels) * sizeof(float);
        auto* sums = static_cast<float*>(context.Scratch(worker, bytes));
        for (std::int64_t image = begin; image < end; ++image) {
          const float* x = args.In<float>(0) + image * pixels * channels;
          for (std::int64_t block = 0; block < blocks; ++block) {
            const std::int64_t first = block * numerics::kColumnBlock;
            columns::ReduceBlock<1>(
                first, std::min(first + numerics::kColumnBlock, pixels), {0, channels}, channels,
                [&](std::int64_t c, auto io) HWY_ATTR {
                  return [=](F* acc, std::int64_t p) HWY_ATTR { acc[0] = S::Add(acc[0], io.Load(x + p * channels + c)); };
                },
                sums + block * channels);
          }
          columns::Combine(sums, blocks, channels, {0, channels});
          float* y = args.Out<float>(0) + image * channels;
          ForEachVector(channels, [&](std::int64_t c, auto io)
                                      HWY_ATTR { io.Store(S::Canonical(S::Div(io.Load(sums + c), count)), y + c); });
        }
      });
}

void Run_global_avg_pool_grad(const KernelArgs& args, Context& context) {
  const Shape& shape = args.out_type(0).shape;
  const std::int64_t pixels = shape[1] * shape[2];
  const std::int64_t channels = shape[3];
  const F count = S::Set(static_cast<float>(pixels));
  context.pool().ParallelFor(shape[0], Grain(pixels * channels), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
    for (std::int64_t image = begin; image < end; ++image) {
      const float* dy = args.In<float>(0) + image * channels;
      float* dx = args.Out<float>(0) + image * pixels * channels;
      ForEachVector(channels, [&](std::int64_t c, auto io) HWY_ATTR {
        const F value = S::Canonical(S::Div(io.Load(dy + c), count));
        for (std::int64_t p = 0; p < pixels; ++p) io.Store(value, dx + p * channels + c);
      });
    }
  });
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
