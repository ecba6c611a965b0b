// What follows the integer sums of a tile: joining the orders, scaling, adding to the totals (docs/NUMERICS.md, section 7).
#if defined(ASSAY_BACKEND_CPU_DIGIT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_DIGIT_TILE_INL_H_
#undef ASSAY_BACKEND_CPU_DIGIT_TILE_INL_H_
#else
#define ASSAY_BACKEND_CPU_DIGIT_TILE_INL_H_
#endif

#include <bit>
#include <cstdint>
#include <cstring>

#include "assay/backend/cpu/digit_format-inl.h"
#include "assay/numerics/scalar.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::digit {

// A unit's sums for some columns: one for each order, or with 16-bit pieces the two orders above already joined.
template <int kDigits, int kSums>
HWY_INLINE VF Join(const VI (&sums)[kSums]) {
  const F32 d;
  const VI upper = kSums == kDigits ? hn::Add(hn::ShiftLeft<8>(sums[0]), sums[1]) : sums[0];
  if constexpr (kDigits == 2) return hn::ConvertTo(d, upper);
  return hn::MulAdd(hn::ConvertTo(d, upper), hn::Set(d, 256.0f), hn::ConvertTo(d, sums[kSums - 1]));
}

HWY_INLINE const LineHeader& Header(const std::uint8_t* line) { return *reinterpret_cast<const LineHeader*>(line); }

// Adds the joined sums of row r, one vector of columns, to the totals.
HWY_INLINE void AddTotals(const Tile& tile, int r, int vector, VF joined) {
  const F32 d;
  const std::int64_t columns = tile.columns - vector * kDwords;
  if (r >= tile.row_count || columns <= 0) return;
  float* out = tile.out[r] + vector * kDwords;
  HWY_ALIGN float edge[kDwords];
  float* at = out;
  if (columns < kDwords) {
    at = edge;
    for (std::int64_t i = 0; i < kDwords; ++i) edge[i] = tile.first || i >= columns ? 0.0f : out[i];
  }
  const LineHeader& header = Header(tile.rows[r]);
  VF total = tile.first ? hn::Zero(d) : hn::LoadU(d, at);
  if (header.absent == 0) {
    const VF columns_scale = hn::LoadU(d, reinterpret_cast<const float*>(tile.panel) + vector * kDwords);
    const VF scale = hn::Mul(hn::Set(d, header.scale), columns_scale);
    total = tile.fused ? hn::MulAdd(joined, scale, total) : hn::Add(total, hn::Mul(joined, scale));
  }
  if (tile.last) {
    total = hn::IfThenElse(hn::IsNaN(total), hn::Set(d, std::bit_cast<float>(numerics::kCanonicalNan)), total);
  }
  hn::StoreU(total, d, at);
  if (at == edge) std::memcpy(out, edge, static_cast<std::size_t>(columns) * sizeof(float));
}

// The sums of a tile, on their way from registers to the totals. All loops over registers are unrolled, or else they would live in memory;
// what follows need not be.
template <int kDigits, int kSums, int kRows>
struct TileSums {
  HWY_ALIGN std::int32_t at[kRows][kVectors][kSums][kDwords];

  void Finish(const Tile& tile) const {
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVectors; ++v) {
        VI sums[kSums];
        for (int s = 0; s < kSums; ++s) sums[s] = hn::Load(I32(), at[r][v][s]);
        AddTotals(tile, r, v, Join<kDigits, kSums>(sums));
      }
    }
  }
};

}  // namespace assay::cpu::HWY_NAMESPACE::digit
HWY_AFTER_NAMESPACE();

#endif
