// Contractions are products of one row and one column: the elements that are multiplied with each other, in the order of the contraction. What a window has
// outside its image stays zero in the row.
#include <algorithm>

#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/matmul_geometry.h"
#include "assay/ops/narrow_kinds.h"
#include "assay/ops/rules.h"
#include "assay/ops/table.h"

namespace assay::ops {
namespace {

Narrowed RowByColumn(std::int64_t k) {
  return {.op = {.def = &Ops()[op::matmul],
                 .attrs = {std::int64_t{0}, std::int64_t{0}},
                 .in = {F32({1, k}), F32({k, 1})},
                 .out = {F32({1, 1})}}};
}

Conv2dGeometry GeometryOfGradX(const OpInstance& op) { return GeometryOfConv2dGradX(op.attrs, op.in[0].shape, op.in[1].shape); }
Conv2dGeometry GeometryOfGradW(const OpInstance& op) { return GeometryOfConv2dGradW(op.attrs, op.in[0].shape, op.in[1].shape); }

// A pixel of `height` x `width` by its number in all images.
struct Pixel {
  Pixel(std::int64_t number, std::int64_t height, std::int64_t width)
      : image(number / (height * width)), row(number / width % height), column(number % width) {}
  std::int64_t image, row, column;
};

bool Within(std::int64_t i, std::int64_t extent) { return i >= 0 && i < extent; }

}  // namespace

Narrowed NarrowMatmul(const OpInstance& op, std::int64_t element) {
  const MatmulGeometry g = GeometryOfMatmul(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t row = element / g.n, batch = row / g.m;
  Narrowed narrowed = RowByColumn(g.k);
  AddPiece(narrowed, StridedOf(0, batch * g.a_batch + row % g.m * g.a_row, g.a_col, g.k), 0);
  AddPiece(narrowed, StridedOf(1, batch * g.b_batch + element % g.n * g.b_col, g.b_row, g.k), 1);
  return narrowed;
}

Narrowed NarrowConv2d(const OpInstance& op, std::int64_t element) {
  const Conv2dGeometry g = GeometryOfConv2d(op.attrs, op.in[0].shape, op.in[1].shape);
  const std::int64_t o = element % g.o, channels = g.group_c(), k = g.kh * g.kw * channels;
  const Pixel window(element / g.o, g.oh, g.ow);
  Narrowed narrowed = RowByColumn(k);
  for (std::int64_t tap = 0; tap < g.kh * g.kw; ++tap) {
    const std::int64_t row = window.row * g.stride + tap / g.kw - g.pad, column = window.column * g.stride + tap % g.kw - g.pad;
    if (!Within(row, g.h) || !Within(column, g.w)) continue;
    const std::int64_t begin = ((window.image * g.h + row) * g.w + column) * g.c + o / g.group_o() * channels;
    AddPiece(narrowed, RunOf(0, begin, channels), 0, tap * channels);
  }
  AddPiece(narrowed, RunOf(1, o * k, k), 1);
  return narrowed;
}

// Over the windows that have the pixel in them, of which only every stride-th tap has one.
Narrowed NarrowConv2dGradX(const OpInstance& op, std::int64_t element) {
  const Conv2dGeometry g = GeometryOfGradX(op);
  const std::int64_t c = element % g.c, outputs = g.group_o(), first = c / g.group_c() * outputs;
  const Pixel pixel(element / g.c, g.h, g.w);
  std::vector<std::int64_t> taps;
  for (std::int64_t tap = 0; tap < g.kh * g.kw; ++tap) {
    if ((pixel.row + g.pad - tap / g.kw) % g.stride == 0 && (pixel.column + g.pad - tap % g.kw) % g.stride == 0)
      taps.push_back(tap);
  }
  Narrowed narrowed = RowByColumn(static_cast<std::int64_t>(taps.size()) * outputs);
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const std::int64_t oh = (pixel.row + g.pad - taps[i] / g.kw) / g.stride,
                       ow = (pixel.column + g.pad - taps[i] % g.kw) / g.stride;
    if (!Within(oh, g.oh) || !Within(ow, g.ow)) continue;
    const std::int64_t begin = ((pixel.image * g.oh + oh) * g.ow + ow) * g.o + first;
    AddPiece(narrowed, RunOf(0, begin, outputs), 0, static_cast<std::int64_t>(i) * outputs);
  }
  const std::int64_t kernel = g.kh * g.kw * g.group_c();
  for (std::size_t i = 0; i < taps.size(); ++i) {
    const std::int64_t begin = first * kernel + taps[i] * g.group_c() + c % g.group_c();
    AddPiece(narrowed, StridedOf(1, begin, kernel, outputs), 1, static_cast<std::int64_t>(i) * outputs);
  }
  return narrowed;
}

Narrowed NarrowConv2dGradW(const OpInstance& op, std::int64_t element) {
  const Conv2dGeometry g = GeometryOfGradW(op);
  const std::int64_t c = element % g.group_c(), tap = element / g.group_c() % (g.kh * g.kw);
  const std::int64_t o = element / (g.group_c() * g.kw * g.kh), windows = g.n * g.oh * g.ow;
  const std::int64_t channel = o / g.group_o() * g.group_c() + c;
  const std::int64_t left = tap % g.kw - g.pad;  // of the tap in the window at the left edge
  const std::int64_t first = left >= 0 ? 0 : (-left + g.stride - 1) / g.stride;
  const std::int64_t end = left >= g.w ? 0 : std::min(g.ow, (g.w - 1 - left) / g.stride + 1);
  Narrowed narrowed = RowByColumn(windows);
  for (std::int64_t line = 0; line < g.n * g.oh; ++line) {
    const std::int64_t image = line / g.oh, row = line % g.oh * g.stride + tap / g.kw - g.pad;
    if (!Within(row, g.h)) continue;
    const std::int64_t begin = ((image * g.h + row) * g.w + first * g.stride + left) * g.c + channel;
    AddPiece(narrowed, StridedOf(0, begin, g.stride * g.c, end - first), 0, line * g.ow + first);
  }
  AddPiece(narrowed, StridedOf(1, o, g.o, windows), 1);
  return narrowed;
}

std::int64_t MaxProducts(const OpInstance& op) {
  switch (op.def->index) {
    case op::conv2d: {
      const Conv2dGeometry g = GeometryOfConv2d(op.attrs, op.in[0].shape, op.in[1].shape);
      return g.kh * g.kw * g.group_c();
    }
    case op::conv2d_grad_x: {
      const Conv2dGeometry g = GeometryOfGradX(op);
      return g.kh * g.kw * g.group_o();
    }
    case op::conv2d_grad_w: {
      const Conv2dGeometry g = GeometryOfGradW(op);
      return g.n * g.oh * g.ow;
    }
    default: return GeometryOfMatmul(op.attrs, op.in[0].shape, op.in[1].shape).k;
  }
}

}  // namespace assay::ops
