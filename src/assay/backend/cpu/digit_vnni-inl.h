// AVX-512 VNNI: one instruction adds 4 products of a byte without a sign and a signed one to each of 16 sums. Digits of the panel are stored
// plus 128, and each sum starts at what that will add, negated (LineHeader::start): all modulo 2^32, so the sum is exact.
#if defined(ASSAY_BACKEND_CPU_DIGIT_VNNI_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_DIGIT_VNNI_INL_H_
#undef ASSAY_BACKEND_CPU_DIGIT_VNNI_INL_H_
#else
#define ASSAY_BACKEND_CPU_DIGIT_VNNI_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "assay/backend/cpu/digit_tile-inl.h"

#if HWY_TARGET == HWY_AVX3
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
namespace assay::cpu::HWY_NAMESPACE::digit {

template <int kDigitCount>
struct Vnni : Format<kDigitCount, 4, true> {
  using Base = Format<kDigitCount, 4, true>;
  static constexpr int kSums = kDigitCount;
  static constexpr int kRows = kDigitCount == 3 ? 4 : 6;

  static HWY_NOINLINE void Run(const Tile& tile) {
    __m512i sums[kRows][kVectors][kSums];
    const std::uint8_t* rows[kRows];
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      rows[r] = tile.rows[r] + sizeof(LineHeader);
      HWY_UNROLL(16)
      for (int v = 0; v < kVectors; ++v) {
        HWY_UNROLL(16)
        for (int s = 0; s < kSums; ++s) sums[r][v][s] = _mm512_set1_epi32(Header(tile.rows[r]).start[s]);
      }
    }
    const std::uint8_t* panel = tile.panel + Base::kPanelHeader;
    for (std::int64_t c = 0; c < tile.chunks; ++c) {
      const std::int64_t bytes = (c + 1 < tile.chunks ? kDwords : tile.last_dwords) * 4;
      for (std::int64_t l = 0; l < bytes; l += 4) {
        __m512i b[kVectors][kDigitCount];
        HWY_UNROLL(16)
        for (int v = 0; v < kVectors; ++v) {
          HWY_UNROLL(16)
          for (int p = 0; p < kDigitCount; ++p) {
            b[v][p] = _mm512_loadu_si512(panel + l * kDigitColumns + p * Base::kPanelPlane + v * kDwords * 4);
          }
        }
        HWY_UNROLL(16)
        for (int r = 0; r < kRows; ++r) {
          HWY_UNROLL(16)
          for (int p = 0; p < kDigitCount; ++p) {
            std::int32_t four;
            std::memcpy(&four, rows[r] + l + p * Base::kLinePlane, 4);
            const __m512i a = _mm512_set1_epi32(four);
            HWY_UNROLL(16)
            for (int e = 0; e < kDigitCount - p; ++e) {
              HWY_UNROLL(16)
              for (int v = 0; v < kVectors; ++v) sums[r][v][p + e] = _mm512_dpbusd_epi32(sums[r][v][p + e], b[v][e], a);
            }
          }
        }
      }
      panel += kDigitCount * Base::kPanelPlane;
      HWY_UNROLL(16)
      for (int r = 0; r < kRows; ++r) rows[r] += kDigitCount * Base::kLinePlane;
    }
    TileSums<kDigitCount, kSums, kRows> out;
    HWY_UNROLL(16)
    for (int r = 0; r < kRows; ++r) {
      HWY_UNROLL(16)
      for (int v = 0; v < kVectors; ++v) {
        HWY_UNROLL(16)
        for (int s = 0; s < kSums; ++s) hn::Store(VI{sums[r][v][s]}, I32(), out.at[r][v][s]);
      }
    }
    out.Finish(tile);
  }
};

}  // namespace assay::cpu::HWY_NAMESPACE::digit
HWY_POP_ATTRIBUTES
#endif

#endif
