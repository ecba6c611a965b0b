// NEON: signed bytes, with the dot product extension (16 products an instruction) or without (8 exact 16-bit products, then added in pairs
// to 32-bit sums; two 16-bit products are never added before, because (-128)^2 twice does not fit).
#if defined(ASSAY_BACKEND_CPU_DIGIT_NEON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_DIGIT_NEON_INL_H_
#undef ASSAY_BACKEND_CPU_DIGIT_NEON_INL_H_
#else
#define ASSAY_BACKEND_CPU_DIGIT_NEON_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "assay/backend/cpu/digit_tile-inl.h"

#if HWY_TARGET == HWY_NEON
HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::digit {

// What the two differ in: the sums that belong to one vector of four columns.
struct DotSums {
  static constexpr int kParts = 1;
  // Spelled out because the intrinsic wants the extension for the whole function, and with it for all it calls. The directive tells the
  // assembler alone.
  static HWY_INLINE void Add(int32x4_t (&sum)[kParts], int8x16_t b, int8x16_t a) {
    asm(".arch armv8.2-a+crypto+dotprod\n\tsdot %0.4s, %1.16b, %2.16b" : "+w"(sum[0]) : "w"(b), "w"(a));
  }
  static HWY_INLINE int32x4_t Total(const int32x4_t (&sum)[kParts]) { return sum[0]; }
};

struct PairSums {
  static constexpr int kParts = 2;
  static HWY_INLINE void Add(int32x4_t (&sum)[kParts], int8x16_t b, int8x16_t a) {
    sum[0] = vpadalq_s16(sum[0], vmull_s8(vget_low_s8(b), vget_low_s8(a)));
    sum[1] = vpadalq_s16(sum[1], vmull_s8(vget_high_s8(b), vget_high_s8(a)));
  }
  static HWY_INLINE int32x4_t Total(const int32x4_t (&sum)[kParts]) { return vpaddq_s32(sum[0], sum[1]); }
};

template <int kDigitCount, class Sums>
struct Neon : Format<kDigitCount, 4, false> {
  using Base = Format<kDigitCount, 4, false>;
  static constexpr int kSums = kDigitCount;
  static constexpr int kRows = (kDigitCount == 3 ? 4 : 6) / Sums::kParts;

  static HWY_NOINLINE void Run(const Tile& tile) {
    int32x4_t sums[kRows][kVectors][kSums][Sums::kParts];
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(16)
      for (int v = 0; v < kVectors; ++v) {
        HWY_UNROLL(16)
        for (int s = 0; s < kSums; ++s) {
          HWY_UNROLL(16)
          for (int part = 0; part < Sums::kParts; ++part) sums[r][v][s][part] = vdupq_n_s32(0);
        }
      }
    }
    const std::uint8_t* panel = tile.panel + Base::kPanelHeader;
    std::int64_t at = sizeof(LineHeader);
    for (std::int64_t c = 0; c < tile.chunks; ++c) {
      const std::int64_t dwords = c + 1 < tile.chunks ? kDwords : tile.last_dwords;
      for (std::int64_t l = 0; l < dwords; ++l) {
        int8x16_t b[kVectors][kDigitCount];
        HWY_UNROLL(16)
        for (int v = 0; v < kVectors; ++v) {
          HWY_UNROLL(16)
          for (int p = 0; p < kDigitCount; ++p) {
            b[v][p] = vld1q_s8(reinterpret_cast<const std::int8_t*>(panel) + (l * kDigitColumns + v * kDwords) * 4 +
                               p * Base::kPanelPlane);
          }
        }
        HWY_UNROLL(16)
        for (int r = 0; r < kRows; ++r) {
          HWY_UNROLL(16)
          for (int p = 0; p < kDigitCount; ++p) {
            std::int32_t four;
            std::memcpy(&four, tile.rows[r] + at + l * 4 + p * Base::kLinePlane, 4);
            const int8x16_t a = vreinterpretq_s8_s32(vdupq_n_s32(four));
            HWY_UNROLL(16)
            for (int e = 0; e < kDigitCount - p; ++e) {
              HWY_UNROLL(16)
              for (int v = 0; v < kVectors; ++v) Sums::Add(sums[r][v][p + e], b[v][e], a);
            }
          }
        }
      }
      panel += kDigitCount * Base::kPanelPlane;
      at += kDigitCount * Base::kLinePlane;
    }
    TileSums<kDigitCount, kSums, kRows> out;
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(16)
      for (int v = 0; v < kVectors; ++v) {
        HWY_UNROLL(16)
        for (int s = 0; s < kSums; ++s) hn::Store(VI{Sums::Total(sums[r][v][s])}, I32(), out.at[r][v][s]);
      }
    }
    out.Finish(tile);
  }
};

template <int kDigitCount>
using NeonDot = Neon<kDigitCount, DotSums>;
template <int kDigitCount>
using NeonPairs = Neon<kDigitCount, PairSums>;

}  // namespace assay::cpu::HWY_NAMESPACE::digit
HWY_AFTER_NAMESPACE();
#endif

#endif
