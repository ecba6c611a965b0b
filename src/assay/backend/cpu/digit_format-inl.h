// How digits lie in memory for the units of one instruction set.
//
// A unit multiplies "dwords" of 32 bits: 4 digits of 8 bits each, or 2 of 16 bits, of as many values of k. Values are gathered into dwords
// at a distance, because the order of k inside a block is free as long as both operands have the same: a block is cut into chunks of
// kDwords dwords, and with P values a dword and s dwords in the chunk, dword l holds the values l, l + s, ..., l + (P - 1)s of the chunk.
// All chunks have s = kDwords except the last, which has as many as its values need; values beyond the block are 0.
//
// A *line* is one row's block: a header, then for each chunk its planes of kDwords dwords each. A plane holds one digit of each value.
// A *panel* is the block of kDigitColumns columns: their scales, then for each chunk its planes of kDwords x kDigitColumns dwords.
// Plane 0 holds the highest digits.
#if defined(ASSAY_BACKEND_CPU_DIGIT_FORMAT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_DIGIT_FORMAT_INL_H_
#undef ASSAY_BACKEND_CPU_DIGIT_FORMAT_INL_H_
#else
#define ASSAY_BACKEND_CPU_DIGIT_FORMAT_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "assay/numerics/digits.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::digit {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
using I32 = hn::ScalableTag<std::int32_t>;
using U32 = hn::ScalableTag<std::uint32_t>;
using VF = hn::Vec<F32>;
using VI = hn::Vec<I32>;
using VU = hn::Vec<U32>;

inline constexpr std::int64_t kDwords = static_cast<std::int64_t>(hn::MaxLanes(U32()));
inline constexpr int kVectors = 2;
inline constexpr std::int64_t kDigitColumns = kVectors * kDwords;
inline constexpr std::int64_t kBlock = numerics::kDigitBlock;

constexpr std::int64_t DivideUp(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// What a line begins with.
struct alignas(64) LineHeader {
  float scale;
  std::int32_t
      start[3];  // what the sum of each order starts at: what the offset of the other operand's digits will add to it, negated
  std::int32_t absent;  // 1: the block does not exist, and the total stays as it is
};

// kDigitCount digits; kPieceCount values in a dword; kBytesOffset: digits of panels are stored plus 128, as bytes without a sign.
template <int kDigitCount, int kPieceCount, bool kBytesOffset>
struct Format {
  static constexpr int kDigits = kDigitCount;
  static constexpr int kPieces = kPieceCount;
  static constexpr bool kOffset = kBytesOffset;
  // 16 bits hold two digits, which saves a product: with three digits, lines of 16-bit pieces hold 256 * d2 + d1, d2, d1 and d0; with
  // two, 256 * d1 + d0 and d1.
  static constexpr int kLinePlanes = kPieces == 4 ? kDigits : kDigits == 3 ? 4 : 2;
  static constexpr int kPanelPlanes = kDigits;
  static constexpr std::int64_t kChunk = kDwords * kPieces;  // values of a chunk
  static constexpr std::int64_t kLinePlane = kDwords * 4;    // bytes
  static constexpr std::int64_t kPanelPlane = kDwords * kDigitColumns * 4;
  static constexpr std::int64_t kPanelHeader = kDigitColumns * 4;

  static constexpr std::int64_t Chunks(std::int64_t depth) { return DivideUp(depth, kChunk); }
  static constexpr std::int64_t LastDwords(std::int64_t depth) {
    return depth == 0 ? 0 : DivideUp(depth - (Chunks(depth) - 1) * kChunk, kPieces);
  }
  static constexpr std::int64_t LineBytes(std::int64_t depth) {
    return static_cast<std::int64_t>(sizeof(LineHeader)) + Chunks(depth) * kLinePlanes * kLinePlane;
  }
  static constexpr std::int64_t PanelBytes(std::int64_t depth) {
    return kPanelHeader + Chunks(depth) * kPanelPlanes * kPanelPlane;
  }
};

// One register tile of the result over one block: at most kMaxRows lines against a panel.
inline constexpr int kMaxRows = 16;
struct Tile {
  const std::uint8_t* rows[kMaxRows];  // lines; those beyond row_count repeat one that exists
  float* out[kMaxRows];                // the tile's first element in each row of the result
  const std::uint8_t* panel;
  std::int64_t row_count, columns;  // how many of them exist
  std::int64_t chunks, last_dwords;
  bool fused;  // the block's part is added in one fma (attention), not as a product of its own
  bool first;  // block of the result: the total is +0
  bool last;   // block of the result: NaNs become canonical
};

}  // namespace assay::cpu::HWY_NAMESPACE::digit
HWY_AFTER_NAMESPACE();

#endif
