// The micro-kernel: one register tile of C over one block of K.
//
// Each of the Rows x Vectors sums is a chain of FMAs in ascending k, from +0. All loops over the tile are unrolled, so that the sums live in registers.
#if defined(ASSAY_BACKEND_CPU_GEMM_KERNEL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_GEMM_KERNEL_INL_H_
#undef ASSAY_BACKEND_CPU_GEMM_KERNEL_INL_H_
#else
#define ASSAY_BACKEND_CPU_GEMM_KERNEL_INL_H_
#endif

#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "assay/backend/cpu/gemm-inl.h"
#include "assay/numerics/scalar.h"

HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE {

// Where a tile's sums go.
struct TileOutput {
  float* rows[static_cast<std::size_t>(kTileRows)];  // the tile's first element in each row of C
  std::int64_t columns;                              // how many of the tile's columns exist
  bool first;                                        // of the blocks of K: the sum is the total
  bool last;                                         // of the blocks of K: NaNs become canonical
};

template <class V>
HWY_INLINE V CanonicalNan(V v) {
  return hn::IfThenElse(hn::IsNaN(v), hn::Set(F32(), std::bit_cast<float>(numerics::kCanonicalNan)), v);
}

template <class V>
HWY_INLINE void FinishVector(V sum, const TileOutput& out, float* to) {
  const F32 d;
  if (!out.first) sum = hn::Add(hn::LoadU(d, to), sum);
  if (out.last) sum = CanonicalNan(sum);
  hn::StoreU(sum, d, to);
}

// The right edge of C: the tile goes through a buffer, of which only existing columns are copied.
inline HWY_NOINLINE void FinishEdge(const float* sums, std::int64_t rows, std::int64_t stride, const TileOutput& out) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < out.columns; ++j) {
      const float sum = sums[i * stride + j];
      const float total = out.first ? sum : out.rows[i][j] + sum;
      out.rows[i][j] = out.last ? numerics::CanonicalNan(total) : total;
    }
  }
}

template <int kRows, int kVectors>
void Tile(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, std::int64_t depth, const TileOutput& out) {
  const F32 d;
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(d));
  using V = hn::Vec<F32>;
  V sums[kRows][kVectors];
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::Zero(d);
  }
  for (int i = 0; i < kRows; ++i) {
    for (int v = 0; v < kVectors; ++v) __builtin_prefetch(out.rows[i] + v * kLanes, 1);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    V column[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) column[v] = hn::Load(d, b + v * kLanes);
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      const V row = hn::Set(d, a[i]);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(row, column[v], sums[i][v]);
    }
    a += kTileRows;
    b += kTileColumns;
  }
  if (out.columns < kVectors * kLanes) {
    HWY_ALIGN float buffer[kRows * kVectors * kLanes];
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) hn::Store(sums[i][v], d, buffer + (i * kVectors + v) * kLanes);
    }
    FinishEdge(buffer, kRows, kVectors * kLanes, out);
    return;
  }
  HWY_UNROLL(16)
  for (int i = 0; i < kRows; ++i) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) FinishVector(sums[i][v], out, out.rows[i] + v * kLanes);
  }
}

using TileFn = void (*)(const float* a, const float* b, std::int64_t depth, const TileOutput& out);

// kTiles[rows - 1][vectors - 1]: narrow tiles for what is left at the bottom and at the right of C.
template <std::size_t... kIndex>
constexpr auto MakeTiles(std::index_sequence<kIndex...>) {
  return std::array<std::array<TileFn, 2>, sizeof...(kIndex)>{{{&Tile<static_cast<int>(kIndex) + 1, 1>, &Tile<static_cast<int>(kIndex) + 1, 2>}...}};
}
inline constexpr auto kTiles = MakeTiles(std::make_index_sequence<static_cast<std::size_t>(kTileRows)>());
static_assert(kTileVectors == 2);

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
