// Images and weights as operands of a contraction, so that a convolution needs no unfolded copy of its image.
//
// Channels are the fastest axis of images, weights and K alike, hence each tap of a window is a run of adjacent values.
#if defined(ASSAY_BACKEND_CPU_CONV2D_OPERANDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_CONV2D_OPERANDS_INL_H_
#undef ASSAY_BACKEND_CPU_CONV2D_OPERANDS_INL_H_
#else
#define ASSAY_BACKEND_CPU_CONV2D_OPERANDS_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "assay/backend/cpu/gemm-inl.h"
#include "assay/backend/cpu/pack-inl.h"
#include "assay/ops/conv2d_windows.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

using ops::Windows;

// Walks over windows in (n, r, q) order.
class WindowCursor {
 public:
  WindowCursor(const Windows& windows, std::int64_t index) : windows_(windows) {
    column_ = index % windows.columns;
    row_ = index / windows.columns % windows.rows;
    image_ = windows.image + index / (windows.columns * windows.rows) * windows.height * windows.width * windows.pixel;
  }
  // The first channel of the pixel at tap (dh, dw), or null outside the image.
  const float* Tap(std::int64_t dh, std::int64_t dw) const {
    const std::int64_t h = row_ * windows_.step + dh, w = column_ * windows_.step + dw;
    if (h < 0 || h >= windows_.height || w < 0 || w >= windows_.width) return nullptr;
    return image_ + (h * windows_.width + w) * windows_.pixel;
  }
  void Next() {
    if (++column_ < windows_.columns) return;
    column_ = 0;
    if (++row_ < windows_.rows) return;
    row_ = 0;
    image_ += windows_.height * windows_.width * windows_.pixel;
  }

 private:
  const Windows& windows_;
  const float* image_;
  std::int64_t row_, column_;
};

// What a tap outside the image reads.
alignas(64) inline constexpr float kZeros[kBlock] = {};

// Line = window, k = (tap h, tap w, channel).
class WindowLines final : public PackedBy<WindowLines> {
 public:
  explicit WindowLines(const Windows& windows) : windows_(windows) {}

  template <std::int64_t kWidth>
  void Pack(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to) const {
    ForEachRun<kWidth>(first, count, k0, depth, [&](const auto& lines, std::int64_t run) HWY_ATTR {
      PackLines<kWidth>(lines, run, to);
      to += run * kWidth;
    });
  }

  // Short runs cost more to follow than to copy.
  bool rows_in_place() const override { return windows_.channels >= 16; }
  std::size_t RowRuns(std::int64_t first, std::int64_t k0, std::int64_t depth, RowRun* runs) const override {
    std::size_t count = 0;
    ForEachRun<kTileRows>(first, kTileRows, k0, depth,
                          [&](const auto& lines, std::int64_t run) { runs[count++] = {lines, run}; });
    return count;
  }

 private:
  // Calls body(addresses of the lines, length) for each run of channels in [k0, k0 + depth).
  template <std::int64_t kWidth, class Body>
  HWY_INLINE void ForEachRun(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth,
                             const Body& body) const {
    const auto cursors = Cursors(first, count, std::make_index_sequence<static_cast<std::size_t>(kWidth)>());
    std::array<const float*, static_cast<std::size_t>(kWidth)> lines;
    for (std::int64_t k = k0; k < k0 + depth;) {
      const std::int64_t tap = k / windows_.channels;
      const std::int64_t channel = k % windows_.channels;
      const std::int64_t run = std::min(windows_.channels - channel, k0 + depth - k);
      const std::int64_t dh = windows_.h.at(tap / windows_.w.count), dw = windows_.w.at(tap % windows_.w.count);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const float* pixel = cursors[i].Tap(dh, dw);
        lines[i] = pixel != nullptr ? pixel + channel : kZeros;
      }
      body(lines, run);
      k += run;
    }
  }

  // Windows first, first + 1, ...; lanes beyond `count` repeat the last.
  template <std::size_t... kIndex>
  std::array<WindowCursor, sizeof...(kIndex)> Cursors(std::int64_t first, std::int64_t count,
                                                      std::index_sequence<kIndex...>) const {
    WindowCursor cursor(windows_, first);
    const auto take = [&](std::size_t i) {
      const WindowCursor taken = cursor;
      if (static_cast<std::int64_t>(i) + 1 < count) cursor.Next();
      return taken;
    };
    return {take(kIndex)...};
  }

  const Windows& windows_;
};

// Line = (tap h, tap w, channel), k = window.
class WindowTaps final : public PackedBy<WindowTaps> {
 public:
  explicit WindowTaps(const Windows& windows) : windows_(windows) {}

  template <std::int64_t kWidth>
  void Pack(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to) const {
    for (std::int64_t i = 0; i < count;) {
      const std::int64_t tap = (first + i) / windows_.channels;
      const std::int64_t channel = (first + i) % windows_.channels;
      const std::int64_t run = std::min(windows_.channels - channel, count - i);
      const std::int64_t dh = windows_.h.at(tap / windows_.w.count), dw = windows_.w.at(tap % windows_.w.count);
      if (run == kWidth) {
        PackTap<kWidth>(dh, dw, channel, kWidth, k0, depth, to);
      } else {
        PackTap<kWidth>(dh, dw, channel, run, k0, depth, to + i);
      }
      i += run;
    }
  }

  bool columns_in_place() const override { return windows_.channels % kTileColumns == 0; }
  void ColumnPointers(std::int64_t first, std::int64_t k0, std::int64_t depth, const float** pointers) const override {
    const std::int64_t tap = first / windows_.channels;
    const std::int64_t dh = windows_.h.at(tap / windows_.w.count), dw = windows_.w.at(tap % windows_.w.count);
    WindowCursor cursor(windows_, k0);
    for (std::int64_t k = 0; k < depth; ++k, cursor.Next()) {
      const float* pixel = cursor.Tap(dh, dw);
      pointers[k] = pixel != nullptr ? pixel + first % windows_.channels : kZeros;
    }
  }

 private:
  template <std::int64_t kWidth>
  HWY_INLINE void PackTap(std::int64_t dh, std::int64_t dw, std::int64_t channel, std::int64_t run, std::int64_t k0,
                          std::int64_t depth, float* to) const {
    WindowCursor cursor(windows_, k0);
    for (std::int64_t k = 0; k < depth; ++k, cursor.Next()) {
      const float* pixel = cursor.Tap(dh, dw);
      if (pixel != nullptr) {
        std::memcpy(to + k * kWidth, pixel + channel, static_cast<std::size_t>(run) * sizeof(float));
      } else {
        std::memset(to + k * kWidth, 0, static_cast<std::size_t>(run) * sizeof(float));
      }
    }
  }

  const Windows& windows_;
};

// Weights [o, kh, kw, c] with line = c and k = (tap, o), for the given taps (indices into kh * kw).
class WeightTaps final : public PackedBy<WeightTaps> {
 public:
  WeightTaps(const float* weights, std::int64_t outputs, std::int64_t window, std::int64_t channels,
             std::vector<std::int64_t> taps)
      : weights_(weights), outputs_(outputs), stride_(window * channels), channels_(channels), taps_(std::move(taps)) {}

  template <std::int64_t kWidth>
  void Pack(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to) const {
    for (std::int64_t k = k0; k < k0 + depth;) {
      const std::int64_t o = k % outputs_;
      const std::int64_t run = std::min(outputs_ - o, k0 + depth - k);
      const float* from = weights_ + o * stride_ + taps_[static_cast<std::size_t>(k / outputs_)] * channels_ + first;
      PackAdjacent<kWidth>(from, stride_, count, run, to + (k - k0) * kWidth);
      k += run;
    }
  }

 private:
  const float* weights_;
  std::int64_t outputs_, stride_, channels_;
  std::vector<std::int64_t> taps_;
};

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
