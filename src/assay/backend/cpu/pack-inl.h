// Copying lines of a matrix into the panels that the micro-kernel reads, and the two kinds of dense operand.
//
// A panel holds kWidth lines, interleaved: element k of line i is at k * kWidth + i.
#if defined(ASSAY_BACKEND_CPU_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_PACK_INL_H_
#undef ASSAY_BACKEND_CPU_PACK_INL_H_
#else
#define ASSAY_BACKEND_CPU_PACK_INL_H_
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "assay/backend/cpu/gemm-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// Stores the 128-bit parts of v `stride` floats apart.
template <class D>
HWY_INLINE void StoreParts(D d, hn::Vec<D> v, float* to, std::int64_t stride) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    hn::StoreU(v, d, to);
  } else {
    const hn::Half<D> half;
    constexpr std::int64_t kParts = static_cast<std::int64_t>(hn::MaxLanes(D())) / 8;
    StoreParts(half, hn::LowerHalf(half, v), to, stride);
    StoreParts(half, hn::UpperHalf(half, v), to + kParts * stride, stride);
  }
}

// Interleaves lines that are contiguous in memory: 4 at a time, transposed in registers. The group of the last lines may write up
// to 3 floats too far, which is why groups are written from the last to the first and a panel ends in slack.
template <std::int64_t kWidth>
HWY_INLINE void PackLines(const std::array<const float*, static_cast<std::size_t>(kWidth)>& lines, std::int64_t depth,
                          float* to) {
  const F32 d;
  constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(d));
  const std::int64_t whole = depth / kLanes * kLanes;
  for (std::int64_t group = (kWidth - 1) / 4 * 4; group >= 0; group -= 4) {
    const auto line = [&](std::int64_t i) { return lines[static_cast<std::size_t>(std::min(group + i, kWidth - 1))]; };
    const float* HWY_RESTRICT l0 = line(0);
    const float* HWY_RESTRICT l1 = line(1);
    const float* HWY_RESTRICT l2 = line(2);
    const float* HWY_RESTRICT l3 = line(3);
    float* at = to + group;
    for (std::int64_t k = 0; k < whole; k += kLanes) {
      const auto r0 = hn::LoadU(d, l0 + k), r1 = hn::LoadU(d, l1 + k), r2 = hn::LoadU(d, l2 + k), r3 = hn::LoadU(d, l3 + k);
      const auto a0 = hn::InterleaveLower(d, r0, r2), a1 = hn::InterleaveLower(d, r1, r3);
      const auto b0 = hn::InterleaveUpper(d, r0, r2), b1 = hn::InterleaveUpper(d, r1, r3);
      StoreParts(d, hn::InterleaveLower(d, a0, a1), at, 4 * kWidth);
      StoreParts(d, hn::InterleaveUpper(d, a0, a1), at + kWidth, 4 * kWidth);
      StoreParts(d, hn::InterleaveLower(d, b0, b1), at + 2 * kWidth, 4 * kWidth);
      StoreParts(d, hn::InterleaveUpper(d, b0, b1), at + 3 * kWidth, 4 * kWidth);
      at += kLanes * kWidth;
    }
  }
  for (std::int64_t k = whole; k < depth; ++k) {
    for (std::int64_t i = 0; i < kWidth; ++i) to[k * kWidth + i] = lines[static_cast<std::size_t>(i)][k];
  }
}

// How far ahead rows are fetched that the hardware's prefetcher would miss because they lie far apart.
inline constexpr std::int64_t kRowsAhead = 32;

// Copies up to kWidth adjacent lines whose elements with the same k are adjacent in memory.
template <std::int64_t kWidth>
HWY_INLINE void PackAdjacent(const float* from, std::int64_t stride, std::int64_t count, std::int64_t depth, float* to) {
  if (count == kWidth) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const float* line = from + k * stride;
      for (std::int64_t i = 0; i < kWidth; i += 16) __builtin_prefetch(line + kRowsAhead * stride + i);
      __builtin_prefetch(line + kRowsAhead * stride + kWidth - 1);
      std::memcpy(to + k * kWidth, line, kWidth * sizeof(float));
    }
    return;
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t i = 0; i < count; ++i) to[k * kWidth + i] = from[k * stride + i];
    for (std::int64_t i = count; i < kWidth; ++i) to[k * kWidth + i] = 0.0f;
  }
}

// As many whole panels of adjacent lines, `panel_floats` apart.
template <std::int64_t kWidth>
HWY_INLINE void PackAdjacentPanels(const float* from, std::int64_t stride, std::int64_t panels, std::int64_t depth, float* to,
                                   std::int64_t panel_floats) {
  constexpr std::int64_t kGroup = 16;  // panels whose lines the first-level cache holds side by side
  for (; panels > 0; panels -= kGroup, from += kGroup * kWidth, to += kGroup * panel_floats) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const float* line = from + k * stride;
      for (std::int64_t p = 0; p < std::min(panels, kGroup); ++p) {
        __builtin_prefetch(line + kRowsAhead * stride + p * kWidth);
        std::memcpy(to + p * panel_floats + k * kWidth, line + p * kWidth, kWidth * sizeof(float));
      }
    }
  }
}

// Implements Operand by one template for both widths.
template <class Derived>
class PackedBy : public Operand {
 public:
  void PackRows(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to) const final {
    static_cast<const Derived*>(this)->template Pack<kTileRows>(first, count, k0, depth, to);
  }
  void PackColumns(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to) const final {
    static_cast<const Derived*>(this)->template Pack<kTileColumns>(first, count, k0, depth, to);
  }
};

// Element k of line i is at data[i * stride + k].
class ContiguousLines final : public PackedBy<ContiguousLines> {
 public:
  ContiguousLines(const float* data, std::int64_t stride) : data_(data), stride_(stride) {}

  template <std::int64_t kWidth>
  void Pack(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to) const {
    std::array<const float*, static_cast<std::size_t>(kWidth)> lines;
    for (std::int64_t i = 0; i < kWidth; ++i) {
      lines[static_cast<std::size_t>(i)] = data_ + (first + std::min(i, count - 1)) * stride_ + k0;
    }
    PackLines<kWidth>(lines, depth, to);
  }

  bool rows_in_place() const override { return stride_ % kAliasFloats != 0; }
  std::size_t RowRuns(std::int64_t first, std::int64_t k0, std::int64_t depth, RowRun* runs) const override {
    for (std::int64_t i = 0; i < kTileRows; ++i) runs->rows[static_cast<std::size_t>(i)] = data_ + (first + i) * stride_ + k0;
    runs->depth = depth;
    return 1;
  }

 private:
  const float* data_;
  std::int64_t stride_;
};

// Element k of line i is at data[k * stride + i].
class AdjacentLines final : public PackedBy<AdjacentLines> {
 public:
  AdjacentLines(const float* data, std::int64_t stride) : data_(data), stride_(stride) {}

  template <std::int64_t kWidth>
  void Pack(std::int64_t first, std::int64_t count, std::int64_t k0, std::int64_t depth, float* to) const {
    PackAdjacent<kWidth>(data_ + k0 * stride_ + first, stride_, count, depth, to);
  }

  std::int64_t adjacent_stride() const override { return stride_; }
  const float* Adjacent(std::int64_t first, std::int64_t k0) const override { return data_ + k0 * stride_ + first; }
  bool columns_in_place() const override { return true; }
  void ColumnPointers(std::int64_t first, std::int64_t k0, std::int64_t depth, const float** pointers) const override {
    for (std::int64_t k = 0; k < depth; ++k) pointers[k] = data_ + (k0 + k) * stride_ + first;
  }

 private:
  const float* data_;
  std::int64_t stride_;
};

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
