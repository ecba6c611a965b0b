// Rows of queries, keys and values as digits. A row's block goes over the width, so the weights that meet digits of several rows in one sum
// have taken in the rows' scales.
#if defined(ASSAY_BACKEND_CPU_ATTENTION_DIGIT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_ATTENTION_DIGIT_ROWS_INL_H_
#undef ASSAY_BACKEND_CPU_ATTENTION_DIGIT_ROWS_INL_H_
#else
#define ASSAY_BACKEND_CPU_ATTENTION_DIGIT_ROWS_INL_H_
#endif

#include <cstdint>

#include "assay/backend/cpu/attention-inl.h"
#include "assay/backend/cpu/digit_multiply-inl.h"
#include "assay/backend/cpu/digit_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::attention {

// Parts of one allocation. With no memory yet, it only counts.
class Parts {
 public:
  explicit Parts(void* memory) : begin_(static_cast<std::uint8_t*>(memory)) {}

  template <class T = std::uint8_t>
  T* Take(std::int64_t count) {
    std::uint8_t* part = begin_ == nullptr ? nullptr : begin_ + bytes_;
    bytes_ += (count * static_cast<std::int64_t>(sizeof(T)) + 63) / 64 * 64;
    return reinterpret_cast<T*>(part);
  }
  std::size_t bytes() const { return static_cast<std::size_t>(bytes_); }

 private:
  std::uint8_t* begin_;
  std::int64_t bytes_ = 0;
};

// The scale of one row, and what its values are multiplied by: 0 for a row that is not finite.
HWY_INLINE void RowScale(const float* x, std::int64_t width, int digits, float& factor, float& scale) {
  digit::VI most = hn::Zero(digit::I32());
  for (std::int64_t i = 0; i < width; i += digit::kDwords) {
    most = hn::Max(most, digit::Magnitude(digit::LoadSome(x + i, width - i)));
  }
  const auto largest = static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(digit::I32(), most)));
  const std::uint32_t exponent = numerics::DigitExponent(largest);
  factor = numerics::DigitFactor(exponent, digits);
  scale = numerics::DigitScale(exponent, digits);
}

// Words of adjacent columns of rows that have a scale each.
class RowWords {
 public:
  HWY_INLINE RowWords(const float* from, std::int64_t stride, std::int64_t columns, const float* factors)
      : from_(from), stride_(stride), columns_(columns), factors_(factors) {}

  HWY_INLINE digit::VU At(std::int64_t row, int v) const {
    const float factor = factors_[row];
    if (HWY_UNLIKELY(factor == 0.0f)) return hn::Set(digit::U32(), digit::kWordOfZero);
    const digit::VF x = digit::LoadSome(from_ + row * stride_ + v * digit::kDwords, columns_ - v * digit::kDwords);
    return digit::Word(x, hn::Set(digit::F32(), factor));
  }

 private:
  const float* from_;
  std::int64_t stride_, columns_;
  const float* factors_;
};

// The columns of `depth` rows as lines: line d holds the digits of column d, up to the rows' scales.
template <class Kernel>
HWY_INLINE void PackColumnLines(const float* from, std::int64_t stride, std::int64_t width, std::int64_t depth,
                                const float* factors, digit::PackSpace<Kernel>& space, std::uint8_t* to) {
  const std::int64_t bytes = Kernel::LineBytes(depth);
  HWY_ALIGN float ones[digit::kDwords];
  std::fill_n(ones, digit::kDwords, 1.0f);
  for (std::int64_t d = 0; d < width; d += digit::kDwords) {
    const RowWords words(from + d, stride, width - d, factors);
    digit::PackAdjacentLines<Kernel>(words, ones, std::min(digit::kDwords, width - d), depth, space, to + d * bytes, bytes);
  }
}

// The columns of `depth` rows as panels, likewise.
template <class Kernel>
HWY_INLINE void PackColumnPanels(const float* from, std::int64_t stride, std::int64_t width, std::int64_t depth,
                                 const float* factors, std::uint8_t* to) {
  for (std::int64_t d = 0; d < width; d += digit::kDigitColumns) {
    std::fill_n(reinterpret_cast<float*>(to), digit::kDigitColumns, 1.0f);
    const RowWords words(from + d, stride, width - d, factors);
    digit::SplitAdjacent<Kernel, false, digit::kVectors>(words, depth,
                                                         reinterpret_cast<std::uint32_t*>(to + Kernel::kPanelHeader));
    to += Kernel::PanelBytes(depth);
  }
}

// A tile that takes whole panels of one block.
template <class Kernel>
HWY_INLINE digit::Tile BlockTile(const std::uint8_t* panel, std::int64_t depth, std::int64_t columns, bool fused, bool first) {
  digit::Tile tile;
  tile.panel = panel;
  tile.columns = columns;
  tile.chunks = Kernel::Chunks(depth);
  tile.last_dwords = Kernel::LastDwords(depth);
  tile.fused = fused;
  tile.first = first;
  tile.last = true;
  return tile;
}

// Lanes of `totals`, rows `stride` apart, whose query sees no key of a block: what they were before it.
class HiddenLanes {
 public:
  // Lanes [0, hidden) see none.
  HiddenLanes(std::int64_t hidden, float* totals, std::int64_t stride, std::int64_t width, float* saved)
      : hidden_(hidden), totals_(totals), stride_(stride), width_(width), saved_(saved) {
    for (std::int64_t d = 0; d < width_ && hidden_ > 0; ++d) Copy(totals_ + d * stride_, saved_ + d * kTile);
  }
  void Restore() const {
    for (std::int64_t d = 0; d < width_ && hidden_ > 0; ++d) Copy(saved_ + d * kTile, totals_ + d * stride_);
  }

 private:
  void Copy(const float* from, float* to) const { std::memcpy(to, from, static_cast<std::size_t>(hidden_) * sizeof(float)); }

  std::int64_t hidden_;
  float* totals_;
  std::int64_t stride_, width_;
  float* saved_;
};

static_assert(kTile == digit::kDigitColumns);

}  // namespace assay::cpu::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif
