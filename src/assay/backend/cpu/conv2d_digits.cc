// conv2d and its gradient to the image with digits: the channels of each pixel become lines once, and every window reads the lines of its
// pixels where they lie.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/backend/cpu/conv2d_digits.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <new>
#include <vector>

#include "assay/backend/cpu/conv2d_digits-inl.h"
#include "assay/backend/cpu/digit_multiply-inl.h"
#include "assay/backend/cpu/digit_pack-inl.h"
#include "assay/ops/conv2d_windows.h"
#include "assay/ops/digits.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {
namespace digit {
namespace {

using Geometry = ops::Conv2dGeometry;

constexpr std::int64_t kPassBytes = std::int64_t{16} << 20;  // of lines at a time, about

// Products of one set of windows: rows are windows, columns the lines of the weights, blocks the pieces of each tap.
struct WindowProduct {
  ops::Windows windows;
  DigitSide weights;                      // as float lines along the channels of tap 0 of the kernel
  std::int64_t tap_floats = 0;            // from a tap of the weights to the next
  std::vector<std::int64_t> kernel_taps;  // which tap of the kernel each tap of the windows is
  std::int64_t columns = 0;
  float* out = nullptr;
  std::int64_t out_stride = 0;
  std::vector<std::int64_t> out_rows;  // if not empty, where each row of the result lies
};

// Where a window lies: the first pixel of its image, and its place there.
struct WindowAt {
  std::int64_t image;
  std::int64_t top, left;
};

// Which line of a window a block reads.
struct BlockAt {
  std::int64_t down, right;  // from the window's place
  std::int64_t depth;
  std::int64_t line;   // bytes from the first line of the pixel
  std::int64_t panel;  // bytes from the first panel of the product
};

template <class Kernel>
class WindowProducts {
 public:
  // All products read the same images.
  WindowProducts(const std::vector<WindowProduct>& products, Context& context)
      : products_(products), threads_(context, Context::kShared), context_(context) {
    const ops::Windows& w = products.front().windows;
    pieces_ = DivideUp(w.channels, kBlock);
    for (std::int64_t piece = 0; piece < pieces_; ++piece) pixel_bytes_ += Kernel::LineBytes(Depth(piece));
    const std::int64_t image_bytes = w.height * w.width * pixel_bytes_;
    pass_images_ =
        std::clamp<std::int64_t>(kPassBytes / std::max<std::int64_t>(1, image_bytes), 1, std::max<std::int64_t>(1, w.images));
    std::int64_t panel_bytes = 0;
    for (const WindowProduct& product : products) {
      blocks_.push_back(BlocksOf(product, panel_bytes));
    }
    constexpr std::int64_t kAbsentBytes = Kernel::LineBytes(kBlock);
    auto* memory = static_cast<std::uint8_t*>(
        context.Scratch(Context::kShared, static_cast<std::size_t>(kAbsentBytes + pass_images_ * image_bytes + panel_bytes)));
    absent_ = memory;
    lines_ = memory + kAbsentBytes;
    panels_ = lines_ + pass_images_ * image_bytes;
    std::memset(memory, 0, static_cast<std::size_t>(kAbsentBytes));
    const LineHeader header{.scale = 0.0f, .start = {0, 0, 0}, .absent = 1};
    std::memcpy(memory, &header, sizeof header);
  }

  void Run() {
    for (std::size_t p = 0; p < products_.size(); ++p) PackPanels(products_[p], blocks_[p]);
    const std::int64_t images = products_.front().windows.images;
    for (std::int64_t first = 0; first < images; first += pass_images_) {
      const std::int64_t count = std::min(pass_images_, images - first);
      PackLines(first, count);
      for (std::size_t p = 0; p < products_.size(); ++p) Multiply(products_[p], blocks_[p], first, count);
    }
  }

 private:
  std::int64_t Depth(std::int64_t piece) const { return std::min(kBlock, products_.front().windows.channels - piece * kBlock); }

  std::vector<BlockAt> BlocksOf(const WindowProduct& product, std::int64_t& panel_bytes) const {
    const std::int64_t panels = DivideUp(product.columns, kDigitColumns);
    std::vector<BlockAt> blocks;
    for (std::int64_t tap = 0; tap < product.windows.h.count * product.windows.w.count; ++tap) {
      std::int64_t line = 0;
      for (std::int64_t piece = 0; piece < pieces_; ++piece) {
        const std::int64_t depth = Depth(piece);
        blocks.push_back({.down = product.windows.h.at(tap / product.windows.w.count),
                          .right = product.windows.w.at(tap % product.windows.w.count),
                          .depth = depth,
                          .line = line,
                          .panel = panel_bytes});
        line += Kernel::LineBytes(depth);
        panel_bytes += panels * Kernel::PanelBytes(depth);
      }
    }
    return blocks;
  }

  void PackPanels(const WindowProduct& product, const std::vector<BlockAt>& blocks) {
    const std::int64_t panels = DivideUp(product.columns, kDigitColumns);
    threads_.For(panels * static_cast<std::int64_t>(blocks.size()), [&](std::int64_t begin, std::int64_t end,
                                                                        int worker) HWY_ATTR {
      PackSpace<Kernel>& space = *new (context_.Scratch(worker, sizeof(PackSpace<Kernel>))) PackSpace<Kernel>;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t number = i / panels, first = i % panels * kDigitColumns;
        const BlockAt& block = blocks[static_cast<std::size_t>(number)];
        const std::int64_t tap = product.kernel_taps[static_cast<std::size_t>(number / pieces_)], k = number % pieces_ * kBlock;
        const std::int64_t count = std::min(kDigitColumns, product.columns - first), stride = product.weights.stride;
        std::uint8_t* panel = panels_ + block.panel + i % panels * Kernel::PanelBytes(block.depth);
        const float* from = product.weights.data + tap * product.tap_floats;
        if (product.weights.adjacent) {
          PackAdjacentPanel<Kernel>(from + k * stride + first, stride, count, block.depth, panel);
        } else {
          PackContiguousPanel<Kernel>(from + first * stride + k, stride, count, block.depth, space, panel);
        }
      }
    });
  }

  void PackLines(std::int64_t first_image, std::int64_t images) {
    const ops::Windows& w = products_.front().windows;
    constexpr std::int64_t kPixels = 32;  // handed to a thread at a time
    const std::int64_t pixels = images * w.height * w.width;
    const float* from = w.image + first_image * w.height * w.width * w.pixel;
    threads_.For(DivideUp(pixels, kPixels), [&](std::int64_t begin, std::int64_t end, int) HWY_ATTR {
      for (std::int64_t i = begin * kPixels; i < std::min(pixels, end * kPixels); ++i) {
        std::uint8_t* line = lines_ + i * pixel_bytes_;
        for (std::int64_t piece = 0; piece < pieces_; ++piece) {
          PackContiguousLine<Kernel>(from + i * w.pixel + piece * kBlock, Depth(piece), line);
          line += Kernel::LineBytes(Depth(piece));
        }
      }
    });
  }

  void Multiply(const WindowProduct& product, const std::vector<BlockAt>& blocks, std::int64_t first_image,
                std::int64_t images) {
    const ops::Windows& w = product.windows;
    const std::int64_t per_image = w.rows * w.columns;
    Result result{.c = product.out, .m = images * per_image, .n = product.columns, .stride = product.out_stride};
    if (product.out_rows.empty()) {
      result.c += first_image * per_image * product.out_stride;
    } else {
      result.rows = product.out_rows.data() + first_image * per_image;
    }
    if (blocks.empty()) {
      for (std::int64_t i = 0; i < result.m; ++i) std::fill_n(result.Row(i), result.n, 0.0f);
      return;
    }
    places_.clear();
    for (std::int64_t i = 0; i < result.m; ++i) {
      places_.push_back({.image = i / per_image * w.height * w.width,
                         .top = i / w.columns % w.rows * w.step,
                         .left = i % w.columns * w.step});
    }
    const auto depth = [&](std::int64_t block) { return blocks[static_cast<std::size_t>(block)].depth; };
    const auto line = [&](std::int64_t row, std::int64_t number) -> const std::uint8_t* {
      const WindowAt& place = places_[static_cast<std::size_t>(row)];
      const BlockAt& block = blocks[static_cast<std::size_t>(number)];
      const std::int64_t h = place.top + block.down, v = place.left + block.right;
      if (h < 0 || h >= w.height || v < 0 || v >= w.width) return absent_;
      return lines_ + (place.image + h * w.width + v) * pixel_bytes_ + block.line;
    };
    const auto panel = [&](std::int64_t index, std::int64_t number) {
      const BlockAt& block = blocks[static_cast<std::size_t>(number)];
      return panels_ + block.panel + index * Kernel::PanelBytes(block.depth);
    };
    digit::Multiply<Kernel>(result, {0, static_cast<std::int64_t>(blocks.size()), true, true}, threads_, depth, line, panel);
  }

  const std::vector<WindowProduct>& products_;
  Threads threads_;
  Context& context_;
  std::int64_t pieces_ = 0, pixel_bytes_ = 0, pass_images_ = 0;
  std::vector<std::vector<BlockAt>> blocks_;
  std::vector<WindowAt> places_;
  std::uint8_t* absent_ = nullptr;
  std::uint8_t* lines_ = nullptr;
  std::uint8_t* panels_ = nullptr;
};

void RunProducts(const std::vector<WindowProduct>& products, int digits, Context& context) {
  WithKernel(context.digit_unit(), digits,
             [&](auto kernel) HWY_ATTR { WindowProducts<decltype(kernel)>(products, context).Run(); });
}

}  // namespace
}  // namespace digit

void Conv2dByDigits(const KernelArgs& args, Context& context) {
  const ops::Conv2dGeometry g = ops::GeometryOfConv2d(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t depth = g.kh * g.kw * g.group_c();
  for (std::int64_t group = 0; group < g.groups; ++group) {
    digit::WindowProduct product;
    product.windows = ops::ForwardWindows(g, args.In<float>(0) + group * g.group_c());
    product.weights = {.data = args.In<float>(1) + group * g.group_o() * depth, .stride = depth, .adjacent = false};
    product.tap_floats = g.group_c();
    for (std::int64_t tap = 0; tap < g.kh * g.kw; ++tap) product.kernel_taps.push_back(tap);
    product.columns = g.group_o();
    product.out = args.Out<float>(0) + group * g.group_o();
    product.out_stride = g.o;
    digit::RunProducts({product}, ops::DigitsOf(*args.op), context);
  }
}

void Conv2dGradXByDigits(const KernelArgs& args, Context& context) {
  const ops::Conv2dGeometry g = ops::GeometryOfConv2dGradX(args.attrs(), args.in_type(0).shape, args.in_type(1).shape);
  const std::int64_t taps = g.kh * g.kw;
  for (std::int64_t group = 0; group < g.groups; ++group) {
    std::vector<digit::WindowProduct> products;
    for (std::int64_t i = 0; i < std::min(g.stride, g.h); ++i) {
      for (std::int64_t j = 0; j < std::min(g.stride, g.w); ++j) {
        const ops::ResidueClass h(i, g.h, g.kh, g.stride, g.pad), w(j, g.w, g.kw, g.stride, g.pad);
        digit::WindowProduct product;
        product.windows = ops::GradXWindows(g, h, w, args.In<float>(0) + group * g.group_o());
        const float* weights = args.In<float>(1) + group * g.group_o() * taps * g.group_c();
        product.weights = {.data = weights, .stride = taps * g.group_c(), .adjacent = true};
        product.tap_floats = g.group_c();
        product.kernel_taps = ops::KernelTaps(g, h, w);
        product.columns = g.group_c();
        product.out = args.Out<float>(0);
        product.out_rows = ops::PixelsOf(g, h, w, group * g.group_c());
        products.push_back(std::move(product));
      }
    }
    if (!products.empty()) digit::RunProducts(products, ops::DigitsOf(*args.op), context);
  }
}

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
