// conv2d and its gradients: contract(K) for each element, a tap outside the image taking part with +0. In conv2d_grad_x
// the taps that the stride never reaches from a pixel are no part of K.
#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/digits.h"
#include "assay/semantics/ref/contract.h"
#include "assay/semantics/ref/conv2d_digits.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {
namespace {

// Element [image, row, column, channel] of a tensor [n, height, width, channels], or +0 outside the image.
float Tap(const float* x, std::int64_t image, std::int64_t row, std::int64_t column, std::int64_t channel, std::int64_t height,
          std::int64_t width, std::int64_t channels) {
  if (row < 0 || row >= height || column < 0 || column >= width) return 0.0f;
  return x[((image * height + row) * width + column) * channels + channel];
}

// Whether some window position, inside the output or not, has its tap `k` at `pixel`; if so, `window` is that position.
bool WindowOf(std::int64_t pixel, std::int64_t k, std::int64_t pad, std::int64_t stride, std::int64_t& window) {
  const std::int64_t start = pixel + pad - k;
  window = start / stride;
  return start % stride == 0;
}

}  // namespace

void Ref_conv2d(const KernelArgs& args, int, Range range) {
  if (ops::DigitsOf(*args.op) != 0) return Conv2dByDigits(args, range);
  const ops::Conv2dGeometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const float* x = args.In<float>(0);
  const float* weights = args.In<float>(1);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t o = i % g.o, ow = i / g.o % g.ow, oh = i / (g.o * g.ow) % g.oh, image = i / (g.o * g.ow * g.oh);
    const std::int64_t first_channel = o / g.group_o() * g.group_c();
    const float* w = weights + o * g.kh * g.kw * g.group_c();
    Contraction sum;
    for (std::int64_t kh = 0; kh < g.kh; ++kh) {
      for (std::int64_t kw = 0; kw < g.kw; ++kw) {
        for (std::int64_t c = 0; c < g.group_c(); ++c) {
          sum.Add(Tap(x, image, oh * g.stride + kh - g.pad, ow * g.stride + kw - g.pad, first_channel + c, g.h, g.w, g.c),
                  *w++);
        }
      }
    }
    args.Out<float>(0)[i] = sum.Total();
  }
}

void Ref_conv2d_grad_x(const KernelArgs& args, int, Range range) {
  if (ops::DigitsOf(*args.op) != 0) return Conv2dGradXByDigits(args, range);
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradX(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const float* dy = args.In<float>(0);
  const float* weights = args.In<float>(1);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t channel = i % g.c, w = i / g.c % g.w, h = i / (g.c * g.w) % g.h, image = i / (g.c * g.w * g.h);
    const std::int64_t group = channel / g.group_c(), c = channel % g.group_c();
    Contraction sum;
    for (std::int64_t kh = 0; kh < g.kh; ++kh) {
      for (std::int64_t kw = 0; kw < g.kw; ++kw) {
        std::int64_t oh = 0, ow = 0;
        if (!WindowOf(h, kh, g.pad, g.stride, oh) || !WindowOf(w, kw, g.pad, g.stride, ow)) continue;
        for (std::int64_t o = group * g.group_o(); o < (group + 1) * g.group_o(); ++o) {
          sum.Add(Tap(dy, image, oh, ow, o, g.oh, g.ow, g.o), weights[((o * g.kh + kh) * g.kw + kw) * g.group_c() + c]);
        }
      }
    }
    args.Out<float>(0)[i] = sum.Total();
  }
}

void Ref_conv2d_grad_w(const KernelArgs& args, int, Range range) {
  if (ops::DigitsOf(*args.op) != 0) return Conv2dGradWByDigits(args, range);
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const float* x = args.In<float>(0);
  const float* dy = args.In<float>(1);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t c = i % g.group_c(), kw = i / g.group_c() % g.kw, kh = i / (g.group_c() * g.kw) % g.kh;
    const std::int64_t o = i / (g.group_c() * g.kw * g.kh);
    const std::int64_t channel = o / g.group_o() * g.group_c() + c;
    Contraction sum;
    for (std::int64_t image = 0; image < g.n; ++image) {
      for (std::int64_t oh = 0; oh < g.oh; ++oh) {
        for (std::int64_t ow = 0; ow < g.ow; ++ow) {
          sum.Add(dy[((image * g.oh + oh) * g.ow + ow) * g.o + o],
                  Tap(x, image, oh * g.stride + kh - g.pad, ow * g.stride + kw - g.pad, channel, g.h, g.w, g.c));
        }
      }
    }
    args.Out<float>(0)[i] = sum.Total();
  }
}

}  // namespace assay::ref
