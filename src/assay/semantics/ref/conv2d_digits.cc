// Digits of convolutions. Of an image the blocks are a pixel's channels, or in conv2d_grad_w a channel's pixels; so they are cut once,
// whatever the windows are.
#include "assay/semantics/ref/conv2d_digits.h"

#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/digits.h"
#include "assay/semantics/ref/digits.h"

namespace assay::ref {
namespace {

bool Within(std::int64_t i, std::int64_t extent) { return i >= 0 && i < extent; }

// Blocks of 256 out of `channels` values that lie next to each other.
DigitLine PixelLine(const float* x, std::int64_t channels, int digits) {
  DigitLine line(digits);
  AppendBlocks(line, channels, [&](std::int64_t c) { return x[c]; });
  return line;
}

// For each of `taps` taps, blocks of 256 out of `channels` values.
template <class Value>
DigitLine WeightsLine(std::int64_t taps, std::int64_t channels, int digits, Value value) {
  DigitLine line(digits);
  for (std::int64_t tap = 0; tap < taps; ++tap) {
    AppendBlocks(line, channels, [&](std::int64_t c) { return value(tap, c); });
  }
  return line;
}

// The products of a pixel's blocks with those of a tap.
float AddTap(const DigitLine& pixel, const DigitLine& weights, std::int64_t tap, std::int64_t channels, float total) {
  const std::size_t blocks = pixel.scales.size();
  for (std::size_t block = 0; block < blocks; ++block) {
    const auto number = static_cast<std::int64_t>(block), at = number * numerics::kDigitBlock;
    const OrderSums sums = Multiply(pixel, at, weights, tap * channels + at, DigitBlockSize(channels, number));
    const float scale = weights.scales[static_cast<std::size_t>(tap) * blocks + block];
    total = AddProduct(sums, pixel.digits, pixel.scales[block], scale, total);
  }
  return total;
}

// A channel of every image, with one scale for each image.
DigitLine ChannelLine(const float* x, std::int64_t images, std::int64_t pixels, std::int64_t channels, int digits) {
  DigitLine line(digits);
  for (std::int64_t image = 0; image < images; ++image) {
    line.Append(pixels, [&](std::int64_t p) { return x[(image * pixels + p) * channels]; });
  }
  return line;
}

// The digits of x that tap (kh, kw) meets at window `window` of the image, or zeros outside.
void PushTap(const ops::Conv2dGeometry& g, const DigitLine& x, std::int64_t image, std::int64_t window, std::int64_t kh,
             std::int64_t kw, DigitLine& to) {
  const std::int64_t row = window / g.ow * g.stride + kh - g.pad, column = window % g.ow * g.stride + kw - g.pad;
  const bool inside = Within(row, g.h) && Within(column, g.w);
  const auto at = static_cast<std::size_t>((image * g.h + row) * g.w + column);
  for (std::size_t place = 0; place < static_cast<std::size_t>(to.digits); ++place) {
    to.places[place].push_back(inside ? x.places[place][at] : std::int16_t{0});
  }
}

}  // namespace

void Conv2dByDigits(const KernelArgs& args, Range range) {
  const ops::Conv2dGeometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const int digits = ops::DigitsOf(*args.op);
  const std::int64_t channels = g.group_c(), taps = g.kh * g.kw;
  DigitLines pixels, weights;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t o = i % g.o, ow = i / g.o % g.ow, oh = i / (g.o * g.ow) % g.oh, image = i / (g.o * g.ow * g.oh);
    const std::int64_t first_channel = o / g.group_o() * channels;
    const float* w = args.In<float>(1) + o * taps * channels;
    const DigitLine& line = weights.At(o, [&] {
      return WeightsLine(taps, channels, digits, [&](std::int64_t tap, std::int64_t c) { return w[tap * channels + c]; });
    });
    float total = 0.0f;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t row = oh * g.stride + tap / g.kw - g.pad, column = ow * g.stride + tap % g.kw - g.pad;
      if (!Within(row, g.h) || !Within(column, g.w)) continue;
      const std::int64_t at = ((image * g.h + row) * g.w + column) * g.c + first_channel;
      const DigitLine& pixel = pixels.At(at, [&] { return PixelLine(args.In<float>(0) + at, channels, digits); });
      total = AddTap(pixel, line, tap, channels, total);
    }
    args.Out<float>(0)[i] = total;
  }
}

void Conv2dGradXByDigits(const KernelArgs& args, Range range) {
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradX(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const int digits = ops::DigitsOf(*args.op);
  const std::int64_t outputs = g.group_o(), taps = g.kh * g.kw;
  DigitLines pixels, weights;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t channel = i % g.c, w = i / g.c % g.w, h = i / (g.c * g.w) % g.h, image = i / (g.c * g.w * g.h);
    const std::int64_t first_output = channel / g.group_c() * outputs, c = channel % g.group_c();
    const DigitLine& line = weights.At(channel, [&] {
      return WeightsLine(taps, outputs, digits, [&](std::int64_t tap, std::int64_t o) {
        return args.In<float>(1)[((first_output + o) * taps + tap) * g.group_c() + c];
      });
    });
    float total = 0.0f;
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t top = h + g.pad - tap / g.kw, left = w + g.pad - tap % g.kw;
      if (top % g.stride != 0 || left % g.stride != 0) continue;
      const std::int64_t oh = top / g.stride, ow = left / g.stride;
      if (!Within(oh, g.oh) || !Within(ow, g.ow)) continue;
      const std::int64_t at = ((image * g.oh + oh) * g.ow + ow) * g.o + first_output;
      const DigitLine& pixel = pixels.At(at, [&] { return PixelLine(args.In<float>(0) + at, outputs, digits); });
      total = AddTap(pixel, line, tap, outputs, total);
    }
    args.Out<float>(0)[i] = total;
  }
}

void Conv2dGradWByDigits(const KernelArgs& args, Range range) {
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const int digits = ops::DigitsOf(*args.op);
  const std::int64_t windows = g.oh * g.ow;
  DigitLines x_lines, dy_lines;
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const std::int64_t c = i % g.group_c(), kw = i / g.group_c() % g.kw, kh = i / (g.group_c() * g.kw) % g.kh;
    const std::int64_t o = i / (g.group_c() * g.kw * g.kh), channel = o / g.group_o() * g.group_c() + c;
    const DigitLine& x =
        x_lines.At(channel, [&] { return ChannelLine(args.In<float>(0) + channel, g.n, g.h * g.w, g.c, digits); });
    const DigitLine& dy = dy_lines.At(o, [&] { return ChannelLine(args.In<float>(1) + o, g.n, windows, g.o, digits); });
    float total = 0.0f;
    for (std::int64_t image = 0; image < g.n; ++image) {
      const auto number = static_cast<std::size_t>(image);
      for (std::int64_t begin = 0; begin < windows; begin += numerics::kDigitBlock) {
        const std::int64_t count = std::min(numerics::kDigitBlock, windows - begin);
        DigitLine taps(digits);
        for (std::int64_t k = 0; k < count; ++k) PushTap(g, x, image, begin + k, kh, kw, taps);
        const OrderSums sums = Multiply(dy, image * windows + begin, taps, 0, count);
        total = AddProduct(sums, digits, dy.scales[number], x.scales[number], total);
      }
    }
    args.Out<float>(0)[i] = total;
  }
}

}  // namespace assay::ref
