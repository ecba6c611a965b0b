// conv2d and its gradients: a contraction for each element. Taps are gathered once for all elements that share them; those outside the image are +0.
#include <vector>

#include "assay/ops/conv2d_geometry.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {
namespace {

using ops::Conv2dGeometry;

// The channels of pixel (row, column) of an image [height, width, channels], or null outside.
const float* PixelAt(const float* image, std::int64_t row, std::int64_t column, std::int64_t height, std::int64_t width,
                     std::int64_t channels) {
  if (row < 0 || row >= height || column < 0 || column >= width) return nullptr;
  return image + (row * width + column) * channels;
}

// Appends channels `channels` of a pixel, +0 if there is none.
void Gather(const float* pixel, Range channels, std::vector<float>& taps) {
  if (pixel == nullptr) {
    taps.insert(taps.end(), static_cast<std::size_t>(channels.size()), 0.0f);
  } else {
    taps.insert(taps.end(), pixel + channels.begin, pixel + channels.end);
  }
}

// Whether some window has its tap `k` at `pixel`; if so, `window` is that one, inside the output or not.
bool WindowOf(std::int64_t pixel, std::int64_t k, const Conv2dGeometry& g, std::int64_t& window) {
  const std::int64_t start = pixel + g.pad - k;
  window = start / g.stride;
  return start % g.stride == 0;
}

template <class T, class Weight>
T ContractTaps(const std::vector<float>& taps, Weight weight) {
  return Contract<T>(
      static_cast<std::int64_t>(taps.size()), [&](std::int64_t k) { return taps[static_cast<std::size_t>(k)]; }, weight);
}

// What conv2d multiplies the weights of a group by at window (image, oh, ow): K = (kh, kw, c).
void ForwardTaps(const Conv2dGeometry& g, const float* x, std::int64_t window, std::int64_t group, std::vector<float>& taps) {
  const std::int64_t ow = window % g.ow, oh = window / g.ow % g.oh, image = window / (g.ow * g.oh);
  taps.clear();
  for (std::int64_t kh = 0; kh < g.kh; ++kh) {
    for (std::int64_t kw = 0; kw < g.kw; ++kw) {
      const float* pixel =
          PixelAt(x + image * g.h * g.w * g.c, oh * g.stride + kh - g.pad, ow * g.stride + kw - g.pad, g.h, g.w, g.c);
      Gather(pixel, {group * g.group_c(), (group + 1) * g.group_c()}, taps);
    }
  }
}

// What conv2d_grad_x multiplies at pixel (image, h, w): elements of dy, and where the weights of channel 0 of the group are. K = (kh, kw, o).
struct BackwardTaps {
  std::vector<float> taps;
  std::vector<std::int64_t> weights;

  void Gather(const Conv2dGeometry& g, const float* dy, std::int64_t place, std::int64_t group) {
    const std::int64_t w = place % g.w, h = place / g.w % g.h, image = place / (g.w * g.h);
    const Range outputs{group * g.group_o(), (group + 1) * g.group_o()};
    taps.clear();
    weights.clear();
    for (std::int64_t kh = 0; kh < g.kh; ++kh) {
      for (std::int64_t kw = 0; kw < g.kw; ++kw) {
        std::int64_t oh = 0, ow = 0;
        if (!WindowOf(h, kh, g, oh) || !WindowOf(w, kw, g, ow)) continue;
        rounded::Gather(PixelAt(dy + image * g.oh * g.ow * g.o, oh, ow, g.oh, g.ow, g.o), outputs, taps);
        for (std::int64_t o = outputs.begin; o < outputs.end; ++o) {
          weights.push_back(((o * g.kh + kh) * g.kw + kw) * g.group_c());
        }
      }
    }
  }
};

}  // namespace

template <class T>
void Formula_conv2d(const KernelArgs& args, int, Range range, T* out) {
  const Conv2dGeometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t k = g.kh * g.kw * g.group_c();
  std::vector<float> taps;
  // A row is a window and a group, so that its elements share the taps.
  ForEachRow(range, g.group_o(), out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* y) {
    const std::int64_t group = row % g.groups;
    ForwardTaps(g, args.In<float>(0), row / g.groups, group, taps);
    for (std::int64_t o = begin; o < end; ++o) {
      const float* weights = args.In<float>(1) + (group * g.group_o() + o) * k;
      y[o - begin] = ContractTaps<T>(taps, [&](std::int64_t i) { return weights[i]; });
    }
  });
}

template <class T>
void Formula_conv2d_grad_x(const KernelArgs& args, int, Range range, T* out) {
  const Conv2dGeometry g = ops::GeometryOfConv2dGradX(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  BackwardTaps gathered;
  ForEachRow(range, g.group_c(), out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* dx) {
    gathered.Gather(g, args.In<float>(0), row / g.groups, row % g.groups);
    for (std::int64_t c = begin; c < end; ++c) {
      const float* weights = args.In<float>(1) + c;
      dx[c - begin] = ContractTaps<T>(gathered.taps,
                                      [&](std::int64_t i) { return weights[gathered.weights[static_cast<std::size_t>(i)]]; });
    }
  });
}

template <class T>
void Formula_conv2d_grad_w(const KernelArgs& args, int, Range range, T* out) {
  const Conv2dGeometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const float* x = args.In<float>(0);
  const float* dy = args.In<float>(1);
  std::vector<float> taps;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t c = i % g.group_c(), kw = i / g.group_c() % g.kw, kh = i / (g.group_c() * g.kw) % g.kh;
    const std::int64_t o = i / (g.group_c() * g.kw * g.kh);
    const std::int64_t channel = o / g.group_o() * g.group_c() + c;
    taps.clear();
    for (std::int64_t image = 0; image < g.n; ++image) {
      for (std::int64_t oh = 0; oh < g.oh; ++oh) {
        for (std::int64_t ow = 0; ow < g.ow; ++ow) {
          const float* pixel =
              PixelAt(x + image * g.h * g.w * g.c, oh * g.stride + kh - g.pad, ow * g.stride + kw - g.pad, g.h, g.w, g.c);
          taps.push_back(pixel == nullptr ? 0.0f : pixel[channel]);
        }
      }
    }
    out[i - range.begin] = ContractTaps<T>(taps, [&](std::int64_t k) { return dy[k * g.o + o]; });
  }
}

ASSAY_FORMULA(conv2d);
ASSAY_FORMULA(conv2d_grad_x);
ASSAY_FORMULA(conv2d_grad_w);

}  // namespace assay::rounded
