// conv2d and its gradients: contract(K), where a place outside the image stands for +0, or digitsum.
#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/digits.h"
#include "assay/semantics/ref/derive_conv2d_digits.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_sums.h"

namespace assay::ref::derive {
namespace {

// Element [image, row, column, channel] of a tensor [n, height, width, channels], or nowhere.
std::int64_t Place(std::int64_t image, std::int64_t row, std::int64_t column, std::int64_t channel, std::int64_t height,
                   std::int64_t width, std::int64_t channels) {
  if (row < 0 || row >= height || column < 0 || column >= width) return Factors::kOutside;
  return ((image * height + row) * width + column) * channels + channel;
}

// The taps of one axis, ascending, that the stride reaches from a pixel: first, first + stride, ...
struct Taps {
  std::int64_t first, count;
};

Taps TapsAt(std::int64_t pixel, std::int64_t pad, std::int64_t stride, std::int64_t kernel) {
  const std::int64_t first = (pixel + pad) % stride;
  return {first, first >= kernel ? 0 : (kernel - 1 - first) / stride + 1};
}

}  // namespace

NodePtr Derive_conv2d(const OpInstance& op, int, std::int64_t element) {
  if (ops::DigitsOf(op) != 0) return DeriveConv2dByDigits(op, element);
  const ops::Conv2dGeometry g = ops::GeometryOfConv2d(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t o = element % g.o, ow = element / g.o % g.ow, oh = element / (g.o * g.ow) % g.oh;
  const std::int64_t image = element / (g.o * g.ow * g.oh);
  const std::int64_t channel = o / g.group_o() * g.group_c();
  const std::int64_t count = g.kh * g.kw * g.group_c();
  return MakeContract(
      [=](std::int64_t k) {
        const std::int64_t c = k % g.group_c(), kw = k / g.group_c() % g.kw, kh = k / (g.group_c() * g.kw);
        return Factors{Place(image, oh * g.stride + kh - g.pad, ow * g.stride + kw - g.pad, channel + c, g.h, g.w, g.c),
                       o * count + k};
      },
      count);
}

NodePtr Derive_conv2d_grad_x(const OpInstance& op, int, std::int64_t element) {
  if (ops::DigitsOf(op) != 0) return DeriveConv2dGradXByDigits(op, element);
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradX(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t channel = element % g.c, w = element / g.c % g.w, h = element / (g.c * g.w) % g.h;
  const std::int64_t image = element / (g.c * g.w * g.h);
  const std::int64_t first_output = channel / g.group_c() * g.group_o(), c = channel % g.group_c();
  const Taps rows = TapsAt(h, g.pad, g.stride, g.kh), columns = TapsAt(w, g.pad, g.stride, g.kw);
  return MakeContract(
      [=](std::int64_t k) {
        const std::int64_t o = first_output + k % g.group_o();
        const std::int64_t kw = columns.first + k / g.group_o() % columns.count * g.stride;
        const std::int64_t kh = rows.first + k / (g.group_o() * columns.count) * g.stride;
        return Factors{Place(image, (h + g.pad - kh) / g.stride, (w + g.pad - kw) / g.stride, o, g.oh, g.ow, g.o),
                       ((o * g.kh + kh) * g.kw + kw) * g.group_c() + c};
      },
      rows.count * columns.count * g.group_o());
}

NodePtr Derive_conv2d_grad_w(const OpInstance& op, int, std::int64_t element) {
  if (ops::DigitsOf(op) != 0) return DeriveConv2dGradWByDigits(op, element);
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradW(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t c = element % g.group_c(), kw = element / g.group_c() % g.kw, kh = element / (g.group_c() * g.kw) % g.kh;
  const std::int64_t o = element / (g.group_c() * g.kw * g.kh);
  const std::int64_t channel = o / g.group_o() * g.group_c() + c;
  return MakeContract(
      [=](std::int64_t k) {
        const std::int64_t ow = k % g.ow, oh = k / g.ow % g.oh, image = k / (g.ow * g.oh);
        return Factors{Place(image, oh * g.stride + kh - g.pad, ow * g.stride + kw - g.pad, channel, g.h, g.w, g.c),
                       k * g.o + o};
      },
      g.n * g.oh * g.ow);
}

}  // namespace assay::ref::derive
