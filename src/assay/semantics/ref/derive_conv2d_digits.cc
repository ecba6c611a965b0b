// The taps of a window that lie inside the image are a rectangle among the taps, and are counted rather than listed: a kernel may have any size.
#include "assay/semantics/ref/derive_conv2d_digits.h"

#include <algorithm>

#include "assay/numerics/digits.h"
#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/digits.h"
#include "assay/semantics/ref/derive_digits.h"

namespace assay::ref::derive {
namespace {

constexpr std::int64_t kBlock = numerics::kDigitBlock;

// Taps along one axis, ascending: tap first + t * step meets pixel `pixel` + t * direction, for t < count; all of them lie inside.
struct InsideTaps {
  std::int64_t first = 0, step = 1, pixel = 0, direction = 1, count = 0;
};

// Of the window at position `at` on x.
InsideTaps ForwardTaps(std::int64_t at, std::int64_t stride, std::int64_t pad, std::int64_t kernel, std::int64_t extent) {
  const std::int64_t start = at * stride - pad, begin = std::max<std::int64_t>(0, -start);
  return {begin, 1, start + begin, 1, std::max<std::int64_t>(0, std::min(kernel, extent - start) - begin)};
}

// Of a pixel of dx, on dy.
InsideTaps BackwardTaps(std::int64_t at, std::int64_t stride, std::int64_t pad, std::int64_t kernel, std::int64_t extent) {
  const std::int64_t residue = (at + pad) % stride, last = (at + pad) / stride;  // where tap `residue` meets dy
  const std::int64_t taps = residue < kernel ? (kernel - 1 - residue) / stride + 1 : 0;
  const std::int64_t begin = std::max<std::int64_t>(0, last - extent + 1);
  return {residue + begin * stride, stride, last - begin, -1, std::max<std::int64_t>(0, std::min(taps, last + 1) - begin)};
}

// Blocks of a window: for each of its taps the channels of the group, in pieces.
struct Window {
  InsideTaps rows, columns;
  std::int64_t channels = 0;

  std::int64_t pieces() const { return CeilDiv(channels, kBlock); }
  std::int64_t blocks() const { return rows.count * columns.count * pieces(); }

  // pixel(row, column): the first element of the group's channels there; weight(kh, kw, c): where a weight is.
  template <class Pixel, class Weight>
  DigitProduct Block(int digits, std::int64_t number, Pixel pixel, Weight weight) const {
    const std::int64_t first = number % pieces() * kBlock, tap = number / pieces();
    const std::int64_t t = tap / columns.count, u = tap % columns.count;
    const std::int64_t at = pixel(rows.pixel + t * rows.direction, columns.pixel + u * columns.direction) + first;
    const std::int64_t kh = rows.first + t * rows.step, kw = columns.first + u * columns.step;
    const DigitPlace x = [=](std::int64_t k) { return at + k; };
    const DigitPlace w = [=](std::int64_t k) { return weight(kh, kw, first + k); };
    const std::int64_t count = std::min(kBlock, channels - first);
    return {digits, {0, x, x, count}, {1, w, w, count}, count};
  }
};

}  // namespace

NodePtr DeriveConv2dByDigits(const OpInstance& op, std::int64_t element) {
  const ops::Conv2dGeometry g = ops::GeometryOfConv2d(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t o = element % g.o, ow = element / g.o % g.ow, oh = element / (g.o * g.ow) % g.oh;
  const std::int64_t image = element / (g.o * g.ow * g.oh), channel = o / g.group_o() * g.group_c();
  const Window window{ForwardTaps(oh, g.stride, g.pad, g.kh, g.h), ForwardTaps(ow, g.stride, g.pad, g.kw, g.w), g.group_c()};
  const auto pixel = [=](std::int64_t row, std::int64_t column) {
    return ((image * g.h + row) * g.w + column) * g.c + channel;
  };
  const auto weight = [=](std::int64_t kh, std::int64_t kw, std::int64_t c) {
    return ((o * g.kh + kh) * g.kw + kw) * g.group_c() + c;
  };
  return MakeDigitSum([=, digits = ops::DigitsOf(op)](std::int64_t b) { return window.Block(digits, b, pixel, weight); },
                      window.blocks());
}

NodePtr DeriveConv2dGradXByDigits(const OpInstance& op, std::int64_t element) {
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradX(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t channel = element % g.c, w = element / g.c % g.w, h = element / (g.c * g.w) % g.h;
  const std::int64_t image = element / (g.c * g.w * g.h);
  const std::int64_t first_output = channel / g.group_c() * g.group_o(), c = channel % g.group_c();
  const Window window{BackwardTaps(h, g.stride, g.pad, g.kh, g.oh), BackwardTaps(w, g.stride, g.pad, g.kw, g.ow), g.group_o()};
  const auto pixel = [=](std::int64_t row, std::int64_t column) {
    return ((image * g.oh + row) * g.ow + column) * g.o + first_output;
  };
  const auto weight = [=](std::int64_t kh, std::int64_t kw, std::int64_t o) {
    return (((first_output + o) * g.kh + kh) * g.kw + kw) * g.group_c() + c;
  };
  return MakeDigitSum([=, digits = ops::DigitsOf(op)](std::int64_t b) { return window.Block(digits, b, pixel, weight); },
                      window.blocks());
}

NodePtr DeriveConv2dGradWByDigits(const OpInstance& op, std::int64_t element) {
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradW(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t c = element % g.group_c(), kw = element / g.group_c() % g.kw, kh = element / (g.group_c() * g.kw) % g.kh;
  const std::int64_t o = element / (g.group_c() * g.kw * g.kh), channel = o / g.group_o() * g.group_c() + c;
  const std::int64_t windows = g.oh * g.ow, pixels = g.h * g.w, pieces = CeilDiv(windows, kBlock);
  const auto block = [=, digits = ops::DigitsOf(op)](std::int64_t number) {
    const std::int64_t first = number % pieces * kBlock, image = number / pieces;
    const DigitPlace in_dy = [=](std::int64_t p) { return (image * windows + p) * g.o + o; };
    const DigitPlace in_x = [=](std::int64_t p) { return (image * pixels + p) * g.c + channel; };
    const DigitPlace factor_dy = [=](std::int64_t k) { return in_dy(first + k); };
    const DigitPlace factor_x = [=](std::int64_t k) {
      const std::int64_t row = (first + k) / g.ow * g.stride + kh - g.pad, column = (first + k) % g.ow * g.stride + kw - g.pad;
      const bool inside = row >= 0 && row < g.h && column >= 0 && column < g.w;
      return inside ? in_x(row * g.w + column) : kNoPlace;
    };
    return DigitProduct{digits, {1, factor_dy, in_dy, windows}, {0, factor_x, in_x, pixels}, std::min(kBlock, windows - first)};
  };
  return MakeDigitSum(block, g.n * pieces);
}

}  // namespace assay::ref::derive
