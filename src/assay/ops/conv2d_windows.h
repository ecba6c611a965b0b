// A convolution and its gradients as contractions over the windows of an image: which pixels a window has, for every backend. Value types; pure.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/ops/conv2d_geometry.h"

namespace assay::ops {

// Taps along one axis: tap t of the window at position r is pixel r * step + first + t * direction.
struct Taps {
  std::int64_t count = 0, first = 0, direction = 1;

  constexpr std::int64_t at(std::int64_t t) const { return first + t * direction; }
};

// A batch of images, of which a group's channels are used, and the windows that lie on it: window (n, r, q) has, for each tap
// (t, u), the pixel (n, r * step + h.at(t), q * step + w.at(u)). A pixel outside the image is zero.
struct Windows {
  const float* image = nullptr;  // first channel of the group in pixel (0, 0, 0)
  std::int64_t height = 0, width = 0;
  std::int64_t pixel = 0;                          // floats from a pixel to the next
  std::int64_t channels = 0;                       // of the group
  std::int64_t images = 0, rows = 0, columns = 0;  // of windows, per image
  std::int64_t step = 1;
  Taps h, w;

  constexpr std::int64_t count() const { return images * rows * columns; }
  constexpr std::int64_t size() const { return h.count * w.count * channels; }
};

// The windows are the pixels themselves: the image is a plain matrix.
constexpr bool IsPlain(const Conv2dGeometry& g) { return g.kh == 1 && g.kw == 1 && g.stride == 1 && g.pad == 0; }

// The windows on x that conv2d takes.
inline Windows ForwardWindows(const Conv2dGeometry& g, const float* x) {
  return {.image = x,
          .height = g.h,
          .width = g.w,
          .pixel = g.c,
          .channels = g.group_c(),
          .images = g.n,
          .rows = g.oh,
          .columns = g.ow,
          .step = g.stride,
          .h = {g.kh, -g.pad, 1},
          .w = {g.kw, -g.pad, 1}};
}

// The pixels of one axis of dx that are `residue` modulo the stride, and the taps that reach them: tap first + t * stride of the
// kernel reaches pixel residue + i * stride from position i + offset - t of dy.
struct ResidueClass {
  ResidueClass(std::int64_t of, std::int64_t extent, std::int64_t kernel, std::int64_t stride, std::int64_t pad)
      : residue(of), pixels((extent - of + stride - 1) / stride), first((of + pad) % stride) {
    count = first < kernel ? (kernel - first + stride - 1) / stride : 0;
    offset = (of + pad - first) / stride;
  }
  std::int64_t residue, pixels, first, count = 0, offset = 0;
};

// dx at the pixels of one residue class per axis is a contraction over the taps that reach them: of these windows on dy ...
inline Windows GradXWindows(const Conv2dGeometry& g, const ResidueClass& h, const ResidueClass& w, const float* dy) {
  return {.image = dy,
          .height = g.oh,
          .width = g.ow,
          .pixel = g.o,
          .channels = g.group_o(),
          .images = g.n,
          .rows = h.pixels,
          .columns = w.pixels,
          .step = 1,
          .h = {h.count, h.offset, -1},
          .w = {w.count, w.offset, -1}};
}

// ... with the weights of these taps (indices into kh * kw) ...
inline std::vector<std::int64_t> KernelTaps(const Conv2dGeometry& g, const ResidueClass& h, const ResidueClass& w) {
  std::vector<std::int64_t> taps;
  for (std::int64_t t = 0; t < h.count; ++t) {
    for (std::int64_t u = 0; u < w.count; ++u) taps.push_back((h.first + t * g.stride) * g.kw + w.first + u * g.stride);
  }
  return taps;
}

// ... and its rows lie here in dx, from `origin`.
inline std::vector<std::int64_t> PixelsOf(const Conv2dGeometry& g, const ResidueClass& h, const ResidueClass& w,
                                          std::int64_t origin) {
  std::vector<std::int64_t> rows;
  for (std::int64_t image = 0; image < g.n; ++image) {
    for (std::int64_t i = h.residue; i < g.h; i += g.stride) {
      for (std::int64_t j = w.residue; j < g.w; j += g.stride) rows.push_back(origin + ((image * g.h + i) * g.w + j) * g.c);
    }
  }
  return rows;
}

}  // namespace assay::ops
