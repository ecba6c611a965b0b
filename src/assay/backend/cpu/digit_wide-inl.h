// Digits as 16-bit integers, for x86 without 8-bit dot products: two products in 16 bits and their sum in 32 bits are one instruction that
// cannot saturate. (Its 8-bit relative saturates for full-range digits.) 16 bits also hold two digits, so three digits need five products
// and two digits two: 256 * P0 + P1 is the sum of (256 * a2 + a1) * b2 + a2 * b1, and fits 32 bits like all its partial sums of one block
// do modulo 2^32.
#if defined(ASSAY_BACKEND_CPU_DIGIT_WIDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_DIGIT_WIDE_INL_H_
#undef ASSAY_BACKEND_CPU_DIGIT_WIDE_INL_H_
#else
#define ASSAY_BACKEND_CPU_DIGIT_WIDE_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "assay/backend/cpu/digit_tile-inl.h"

#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::digit {

HWY_INLINE VI AddPairs(VI sum, VI a, VI b) {
#if HWY_TARGET == HWY_AVX2
  return VI{_mm256_add_epi32(sum.raw, _mm256_madd_epi16(a.raw, b.raw))};
#else
  return VI{_mm512_add_epi32(sum.raw, _mm512_madd_epi16(a.raw, b.raw))};
#endif
}

template <int kDigitCount>
struct Wide : Format<kDigitCount, 2, false> {
  using Base = Format<kDigitCount, 2, false>;
  static constexpr int kSums = kDigitCount - 1;
  static constexpr int kRows = (kDigitCount == 3 ? 3 : 6) * (HWY_TARGET == HWY_AVX2 ? 1 : 2);

  static HWY_NOINLINE void Run(const Tile& tile) {
    const I32 d;
    VI sums[kRows][kVectors][kSums];
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(16)
      for (int v = 0; v < kVectors; ++v) {
        HWY_UNROLL(16)
        for (int s = 0; s < kSums; ++s) sums[r][v][s] = hn::Zero(d);
      }
    }
    const std::uint8_t* panel = tile.panel + Base::kPanelHeader;
    std::int64_t at = sizeof(LineHeader);
    for (std::int64_t c = 0; c < tile.chunks; ++c) {
      const std::int64_t dwords = c + 1 < tile.chunks ? kDwords : tile.last_dwords;
      for (std::int64_t l = 0; l < dwords; ++l) {
        const std::uint8_t* columns = panel + l * kDigitColumns * 4;
        VI b[kVectors][Base::kPanelPlanes];
        HWY_UNROLL(16)
        for (int v = 0; v < kVectors; ++v) {
          HWY_UNROLL(16)
          for (int p = 0; p < Base::kPanelPlanes; ++p) {
            b[v][p] = hn::LoadU(d, reinterpret_cast<const std::int32_t*>(columns + p * Base::kPanelPlane) + v * kDwords);
          }
        }
        HWY_UNROLL(16)
        for (int r = 0; r < kRows; ++r) {
          VI a[Base::kLinePlanes];
          HWY_UNROLL(16)
          for (int p = 0; p < Base::kLinePlanes; ++p) {
            std::int32_t pair;
            std::memcpy(&pair, tile.rows[r] + at + l * 4 + p * Base::kLinePlane, 4);
            a[p] = hn::Set(d, pair);
          }
          HWY_UNROLL(16)
          for (int v = 0; v < kVectors; ++v) {
            sums[r][v][0] = AddPairs(AddPairs(sums[r][v][0], a[0], b[v][0]), a[1], b[v][1]);
            if constexpr (kDigitCount == 3) {
              sums[r][v][1] = AddPairs(AddPairs(AddPairs(sums[r][v][1], a[1], b[v][2]), a[2], b[v][1]), a[3], b[v][0]);
            }
          }
        }
      }
      panel += Base::kPanelPlanes * Base::kPanelPlane;
      at += Base::kLinePlanes * Base::kLinePlane;
    }
    TileSums<kDigitCount, kSums, kRows> out;
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(16)
      for (int v = 0; v < kVectors; ++v) {
        HWY_UNROLL(16)
        for (int s = 0; s < kSums; ++s) hn::Store(sums[r][v][s], d, out.at[r][v][s]);
      }
    }
    out.Finish(tile);
  }
};

}  // namespace assay::cpu::HWY_NAMESPACE::digit
HWY_AFTER_NAMESPACE();
#endif

#endif
