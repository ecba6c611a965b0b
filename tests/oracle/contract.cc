#include "oracle/oracle.h"

namespace assay::oracle {
namespace {

// Calls f(dy index, x index, w index) for every tap of every output of a convolution that lies inside the image.
template <class F>
void ForEachTap(const Shape& x, const Shape& w, const Shape& y, std::int64_t stride, std::int64_t pad, std::int64_t groups,
                F f) {
  const std::int64_t out_per_group = w[0] / groups;
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for (std::int64_t oh = 0; oh < y[1]; ++oh) {
      for (std::int64_t ow = 0; ow < y[2]; ++ow) {
        for (std::int64_t o = 0; o < y[3]; ++o) {
          for (std::int64_t kh = 0; kh < w[1]; ++kh) {
            for (std::int64_t kw = 0; kw < w[2]; ++kw) {
              const std::int64_t h = oh * stride + kh - pad;
              const std::int64_t v = ow * stride + kw - pad;
              if (h < 0 || h >= x[1] || v < 0 || v >= x[2]) continue;
              for (std::int64_t ch = 0; ch < w[3]; ++ch) {
                f(Index(((n * y[1] + oh) * y[2] + ow) * y[3] + o),
                  Index(((n * x[1] + h) * x[2] + v) * x[3] + o / out_per_group * w[3] + ch),
                  Index(((o * w[1] + kh) * w[2] + kw) * w[3] + ch));
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace

Arrays Oracle_matmul(const Call& c) {
  const bool ta = c.Int(0) != 0, tb = c.Int(1) != 0;
  const Shape& a = c.shape(0);
  const Shape& b = c.shape(1);
  const Shape& y = c.out_shape(0);
  const std::int64_t m = y.Back(1), n = y.Back(0), k = ta ? a.Back(1) : a.Back(0);
  const std::int64_t batches = y.Product(0, y.rank() - 2);
  Array out = c.Zeros(0);
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t a0 = a.rank() == 2 ? 0 : batch * m * k;
    const std::int64_t b0 = b.rank() == 2 ? 0 : batch * k * n;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          sum += c[0][Index(a0 + (ta ? l * m + i : i * k + l))] * c[1][Index(b0 + (tb ? j * k + l : l * n + j))];
        }
        out[Index((batch * m + i) * n + j)] = sum;
      }
    }
  }
  return {out};
}

Arrays Oracle_conv2d(const Call& c) {
  Array out = c.Zeros(0);
  ForEachTap(c.shape(0), c.shape(1), c.out_shape(0), c.Int(0), c.Int(1), c.Int(2),
             [&](std::size_t y, std::size_t x, std::size_t w) { out[y] += c[0][x] * c[1][w]; });
  return {out};
}

Arrays Oracle_conv2d_grad_x(const Call& c) {
  Array out = c.Zeros(0);
  ForEachTap(c.out_shape(0), c.shape(1), c.shape(0), c.Int(0), c.Int(1), c.Int(2),
             [&](std::size_t y, std::size_t x, std::size_t w) { out[x] += c[0][y] * c[1][w]; });
  return {out};
}

Arrays Oracle_conv2d_grad_w(const Call& c) {
  Array out = c.Zeros(0);
  ForEachTap(c.shape(0), c.out_shape(0), c.shape(1), c.Int(0), c.Int(1), c.Int(2),
             [&](std::size_t y, std::size_t x, std::size_t w) { out[w] += c[1][y] * c[0][x]; });
  return {out};
}

}  // namespace assay::oracle
