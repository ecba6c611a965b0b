// conv2d_grad_w with digits: the values of one channel of one image share a scale. An image's x becomes words once; each panel then gathers
// them through its taps, and dy becomes lines along the windows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/conv2d_digits_grad_w.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <new>
#include <vector>

#include "assay/backend/cpu/conv2d_digits-inl.h"
#include "assay/backend/cpu/digit_multiply-inl.h"
#include "assay/backend/cpu/digit_pack-inl.h"
#include "assay/ops/conv2d_geometry.h"
#include "assay/ops/digits.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace digit {
namespace {

using Geometry = ops::Conv2dGeometry;

constexpr std::int64_t kPassBytes = std::int64_t{16} << 20;  // of packed images at a time, about

// The first pixel of a window, which may lie outside.
struct WindowAt {
  std::int64_t top, left;
};

// The words of a panel's columns (kh, kw, c) at the windows of a piece.
class TapWords {
 public:
  HWY_INLINE TapWords(const Geometry& g, const std::uint32_t* words, const WindowAt* windows, std::int64_t first_column)
      : g_(g), words_(words), windows_(windows) {
    const std::int64_t columns = g.kh * g.kw * g.group_c();
    for (std::int64_t i = 0; i < kDigitColumns; ++i) {
      const std::int64_t column = std::min(first_column + i, columns - 1), tap = column / g.group_c();
      lanes_[i] = {.down = tap / g.kw, .right = tap % g.kw, .channel = column % g.group_c()};
    }
    for (int v = 0; v < kVectors; ++v) {
      const Lane& first = lanes_[v * kDwords];
      const Lane& last = lanes_[(v + 1) * kDwords - 1];
      together_[v] = last.channel - first.channel == kDwords - 1 && last.down == first.down && last.right == first.right;
    }
  }

  HWY_INLINE VU At(std::int64_t k, int v) const {
    const Lane* lanes = lanes_ + v * kDwords;
    if (together_[v]) {
      const std::uint32_t* at = Place(k, lanes[0]);
      return at != nullptr ? hn::LoadU(U32(), at) : hn::Set(U32(), kWordOfZero);
    }
    HWY_ALIGN std::uint32_t each[kDwords];
    for (std::int64_t i = 0; i < kDwords; ++i) {
      const std::uint32_t* at = Place(k, lanes[i]);
      each[i] = at != nullptr ? *at : kWordOfZero;
    }
    return hn::Load(U32(), each);
  }

 private:
  struct Lane {
    std::int64_t down, right, channel;
  };

  HWY_INLINE const std::uint32_t* Place(std::int64_t k, const Lane& lane) const {
    const std::int64_t h = windows_[k].top + lane.down, w = windows_[k].left + lane.right;
    if (h < 0 || h >= g_.h || w < 0 || w >= g_.w) return nullptr;
    return words_ + (h * g_.w + w) * g_.group_c() + lane.channel;
  }

  const Geometry& g_;
  const std::uint32_t* words_;
  const WindowAt* windows_;
  Lane lanes_[kDigitColumns];
  bool together_[kVectors];  // the columns of a vector are adjacent channels of one tap
};

template <class Kernel>
class WeightGradient {
 public:
  WeightGradient(const Geometry& g, const float* x, const float* dy, float* dw, Context& context)
      : g_(g), x_(x), dy_(dy), dw_(dw), threads_(context, Context::kShared), context_(context) {
    for (std::int64_t i = 0; i < windows(); ++i) {
      places_.push_back({.top = i / g.ow * g.stride - g.pad, .left = i % g.ow * g.stride - g.pad});
    }
    for (std::int64_t piece = 0; piece < pieces(); ++piece) {
      lines_at_.push_back(image_lines_);
      panels_at_.push_back(image_panels_);
      image_lines_ += g.group_o() * Kernel::LineBytes(Depth(piece));
      image_panels_ += panels() * Kernel::PanelBytes(Depth(piece));
    }
    const std::int64_t word_bytes = DivideUp(g.h * g.w * g.group_c() * 4, 64) * 64,
                       scale_bytes = DivideUp(g.group_c() * 4, 64) * 64;
    const std::int64_t image = image_lines_ + image_panels_ + word_bytes + scale_bytes;
    pass_images_ = std::clamp<std::int64_t>(kPassBytes / image, 1, g.n);
    lines_ = static_cast<std::uint8_t*>(context.Scratch(Context::kShared, static_cast<std::size_t>(pass_images_ * image)));
    panels_ = lines_ + pass_images_ * image_lines_;
    words_ = reinterpret_cast<std::uint32_t*>(panels_ + pass_images_ * image_panels_);
    image_words_ = word_bytes / 4;
    scales_ = reinterpret_cast<float*>(words_ + pass_images_ * image_words_);
    image_scales_ = scale_bytes / 4;
  }

  void Run() {
    for (std::int64_t first = 0; first < g_.n; first += pass_images_) {
      const std::int64_t count = std::min(pass_images_, g_.n - first);
      const std::int64_t x_groups = DivideUp(g_.group_c(), kDwords), dy_groups = DivideUp(g_.group_o(), kDwords);
      threads_.For(count * (x_groups + dy_groups), [&](std::int64_t begin, std::int64_t end, int worker) HWY_ATTR {
        PackSpace<Kernel>& space = *new (context_.Scratch(worker, sizeof(PackSpace<Kernel>))) PackSpace<Kernel>;
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t image = i % count, group = i / count;
          if (group < x_groups) {
            PackWords(first, image, group * kDwords);
          } else {
            PackLines(first, image, (group - x_groups) * kDwords, space);
          }
        }
      });
      threads_.For(count * pieces() * panels(), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
        for (std::int64_t i = begin; i < end; ++i) PackPanel(i / (pieces() * panels()), i / panels() % pieces(), i % panels());
      });
      Multiply(first, count);
    }
  }

 private:
  std::int64_t windows() const { return g_.oh * g_.ow; }
  std::int64_t pieces() const { return DivideUp(windows(), kBlock); }
  std::int64_t columns() const { return g_.kh * g_.kw * g_.group_c(); }
  std::int64_t panels() const { return DivideUp(columns(), kDigitColumns); }
  std::int64_t Depth(std::int64_t piece) const { return std::min(kBlock, windows() - piece * kBlock); }

  std::uint8_t* Line(std::int64_t image, std::int64_t piece, std::int64_t row) const {
    return lines_ + image * image_lines_ + lines_at_[static_cast<std::size_t>(piece)] + row * Kernel::LineBytes(Depth(piece));
  }
  std::uint8_t* Panel(std::int64_t image, std::int64_t piece, std::int64_t index) const {
    return panels_ + image * image_panels_ + panels_at_[static_cast<std::size_t>(piece)] +
           index * Kernel::PanelBytes(Depth(piece));
  }

  // The words and scales of kDwords channels of an image.
  HWY_INLINE void PackWords(std::int64_t first, std::int64_t image, std::int64_t channel) const {
    const std::int64_t pixels = g_.h * g_.w, count = std::min(kDwords, g_.group_c() - channel);
    const float* from = x_ + (first + image) * pixels * g_.c + channel;
    HWY_ALIGN float scales[kDwords];
    Scaling<1> scaling;
    scaling.Find(from, g_.c, count, pixels, Kernel::kDigits, scales);
    std::memcpy(scales_ + image * image_scales_ + channel, scales, static_cast<std::size_t>(count) * 4);
    const FloatWords<1> words(from, g_.c, count, scaling);
    std::uint32_t* to = words_ + image * image_words_ + channel;
    for (std::int64_t p = 0; p < pixels; ++p, to += g_.group_c()) {
      HWY_ALIGN std::uint32_t some[kDwords];
      hn::Store(words.At(p, 0), U32(), some);
      std::memcpy(to, some, static_cast<std::size_t>(count) * 4);
    }
  }

  HWY_INLINE void PackLines(std::int64_t first, std::int64_t image, std::int64_t row, PackSpace<Kernel>& space) const {
    const std::int64_t count = std::min(kDwords, g_.group_o() - row);
    const float* from = dy_ + (first + image) * windows() * g_.o + row;
    HWY_ALIGN float scales[kDwords];
    Scaling<1> scaling;
    scaling.Find(from, g_.o, count, windows(), Kernel::kDigits, scales);
    for (std::int64_t piece = 0; piece < pieces(); ++piece) {
      const FloatWords<1> words(from + piece * kBlock * g_.o, g_.o, count, scaling);
      PackAdjacentLines<Kernel>(words, scales, count, Depth(piece), space, Line(image, piece, row),
                                Kernel::LineBytes(Depth(piece)));
    }
  }

  HWY_INLINE void PackPanel(std::int64_t image, std::int64_t piece, std::int64_t index) const {
    std::uint8_t* panel = Panel(image, piece, index);
    auto* scales = reinterpret_cast<float*>(panel);
    for (std::int64_t i = 0; i < kDigitColumns; ++i) {
      const std::int64_t column = std::min(index * kDigitColumns + i, columns() - 1);
      scales[i] = scales_[image * image_scales_ + column % g_.group_c()];
    }
    const TapWords words(g_, words_ + image * image_words_, places_.data() + piece * kBlock, index * kDigitColumns);
    SplitAdjacent<Kernel, false, kVectors>(words, Depth(piece), reinterpret_cast<std::uint32_t*>(panel + Kernel::kPanelHeader));
  }

  void Multiply(std::int64_t first, std::int64_t count) const {
    const Result result{.c = dw_, .m = g_.group_o(), .n = columns(), .stride = columns()};
    const std::int64_t per_image = pieces();
    digit::Multiply<Kernel>(
        result, {0, count * per_image, first == 0, first + count == g_.n}, threads_,
        [&](std::int64_t block) { return Depth(block % per_image); },
        [&](std::int64_t row, std::int64_t block) { return Line(block / per_image, block % per_image, row); },
        [&](std::int64_t index, std::int64_t block) { return Panel(block / per_image, block % per_image, index); });
  }

  const Geometry& g_;
  const float* x_;
  const float* dy_;
  float* dw_;
  Threads threads_;
  Context& context_;
  std::vector<WindowAt> places_;
  std::vector<std::int64_t> lines_at_, panels_at_;  // of each piece, from those of the image
  std::int64_t image_lines_ = 0, image_panels_ = 0, image_words_ = 0, image_scales_ = 0, pass_images_ = 0;
  std::uint8_t* lines_ = nullptr;
  std::uint8_t* panels_ = nullptr;
  std::uint32_t* words_ = nullptr;
  float* scales_ = nullptr;
};

}  // namespace
}  // namespace digit

void Conv2dGradWByDigits(const KernelArgs& args, Context& context) {
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradW(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t columns = g.kh * g.kw * g.group_c();
  for (std::int64_t group = 0; group < g.groups; ++group) {
    float* dw = args.Out<float>(0) + group * g.group_o() * columns;
    if (g.n * g.oh * g.ow == 0 || g.group_o() * columns == 0) {
      std::fill_n(dw, g.group_o() * columns, 0.0f);
      continue;
    }
    digit::WithKernel(context.digit_unit(), ops::DigitsOf(*args.op), [&](auto kernel) HWY_ATTR {
      digit::WeightGradient<decltype(kernel)>(g, args.In<float>(0) + group * g.group_c(),
                                              args.In<float>(1) + group * g.group_o(), dw, context)
          .Run();
    });
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
