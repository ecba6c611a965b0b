#include "oracle/oracle.h"

namespace assay::oracle {
namespace {

// Calls f(window element index in y, element index in x, h * W + w) for every tap inside the image, windows outermost, taps in
// (kh, kw) order. Attributes: kernel_h, kernel_w, stride, pad.
template <class F>
void ForEachTap(const Call& c, const Shape& x, const Shape& y, F f) {
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t oh = 0; oh < y[1]; ++oh) {
      for (std::int64_t ow = 0; ow < y[2]; ++ow) {
        for (std::int64_t ch = 0; ch < y[3]; ++ch) {
          for (std::int64_t kh = 0; kh < c.Int(0); ++kh) {
            for (std::int64_t kw = 0; kw < c.Int(1); ++kw) {
              const std::int64_t h = oh * c.Int(2) + kh - c.Int(3);
              const std::int64_t w = ow * c.Int(2) + kw - c.Int(3);
              if (h < 0 || h >= x[1] || w < 0 || w >= x[2]) continue;
              f(Index(((n * y[1] + oh) * y[2] + ow) * y[3] + ch), Index(((n * x[1] + h) * x[2] + w) * x[3] + ch), h * x[2] + w);
            }
          }
        }
      }
    }
  }
}

}  // namespace

Arrays Oracle_max_pool2d(const Call& c) {
  Array y(Index(c.op.out[0].elements()), -std::numeric_limits<double>::infinity()), argmax = c.Zeros(1);
  ForEachTap(c, c.shape(0), c.out_shape(0), [&](std::size_t out, std::size_t in, std::int64_t position) {
    if (c[0][in] <= y[out]) return;
    y[out] = c[0][in];
    argmax[out] = static_cast<double>(position);
  });
  return {y, argmax};
}

// (dy, argmax)
Arrays Oracle_max_pool2d_grad(const Call& c) {
  Array dx = c.Zeros(0);
  ForEachTap(c, c.out_shape(0), c.shape(0), [&](std::size_t out, std::size_t in, std::int64_t position) {
    if (c[1][out] == static_cast<double>(position)) dx[in] += c[0][out];
  });
  return {dx};
}

Arrays Oracle_avg_pool2d(const Call& c) {
  const double taps = static_cast<double>(c.Int(0) * c.Int(1));
  Array y = c.Zeros(0);
  ForEachTap(c, c.shape(0), c.out_shape(0), [&](std::size_t out, std::size_t in, std::int64_t) { y[out] += c[0][in] / taps; });
  return {y};
}

Arrays Oracle_avg_pool2d_grad(const Call& c) {
  const double taps = static_cast<double>(c.Int(0) * c.Int(1));
  Array dx = c.Zeros(0);
  ForEachTap(c, c.out_shape(0), c.shape(0), [&](std::size_t out, std::size_t in, std::int64_t) { dx[in] += c[0][out] / taps; });
  return {dx};
}

Arrays Oracle_global_avg_pool(const Call& c) {
  const Shape& x = c.shape(0);
  Array y = c.Zeros(0);
  for (std::size_t i = 0; i < c[0].size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    y[Index(at / (x[1] * x[2] * x[3]) * x[3] + at % x[3])] += c[0][i] / static_cast<double>(x[1] * x[2]);
  }
  return {y};
}

Arrays Oracle_global_avg_pool_grad(const Call& c) {
  const Shape& x = c.out_shape(0);
  Array dx = c.Zeros(0);
  for (std::size_t i = 0; i < dx.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    dx[i] = c[0][Index(at / (x[1] * x[2] * x[3]) * x[3] + at % x[3])] / static_cast<double>(x[1] * x[2]);
  }
  return {dx};
}

}  // namespace assay::oracle
