// The micro-kernel: one register tile of C over one block of K.
//
// Each of the Rows x Vectors sums is a chain of FMAs in ascending k, from +0. All loops over the tile are unrolled, so that the sums
// live in registers.
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
  std::int64_t row_count;                            // how many of the tile's rows exist
  std::int64_t columns;                              // how many of the tile's columns exist
  std::int64_t vectors;                              // that hold them
  bool first;                                        // of the blocks of K: the sum is the total
  bool last;                                         // of the blocks of K: NaNs become canonical
};

// Addresses that a later tile will read, one fetched at each step of k, so that memory is read evenly while sums are formed.
struct FetchList {
  const float* at[static_cast<std::size_t>(kBlock)];
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
struct Sums {
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(F32()));
  using V = hn::Vec<F32>;
  V at[kRows][kVectors];

  // Spelled out because g++ does not give implicit constructors the target's attributes.
  HWY_INLINE Sums() {}

  HWY_INLINE void Start(const TileOutput& out) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        at[i][v] = hn::Zero(F32());
        __builtin_prefetch(out.rows[i] + v * kLanes, 1);
      }
    }
  }

  // One step of k; element(i) is A's element of row i.
  template <class Element>
  HWY_INLINE void Step(const Element& element, const V (&column)[kVectors]) {
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      const V row = hn::Set(F32(), element(i));
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) at[i][v] = hn::MulAdd(row, column[v], at[i][v]);
    }
  }

  HWY_INLINE void Finish(const TileOutput& out) const {
    const F32 d;
    if (out.columns < kVectors * kLanes) {
      HWY_ALIGN float buffer[kRows * kVectors * kLanes];
      HWY_UNROLL(16)
      for (int i = 0; i < kRows; ++i) {
        HWY_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) hn::Store(at[i][v], d, buffer + (i * kVectors + v) * kLanes);
      }
      FinishEdge(buffer, kRows, kVectors * kLanes, out);
      return;
    }
    HWY_UNROLL(16)
    for (int i = 0; i < kRows; ++i) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) FinishVector(at[i][v], out, out.rows[i] + v * kLanes);
    }
  }
};

template <int kVectors>
HWY_INLINE void LoadColumns(const float* b, hn::Vec<F32> (&column)[kVectors]) {
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) column[v] = hn::LoadU(F32(), b + v * Sums<1, kVectors>::kLanes);
}

// Rows of A that are adjacent for every k: a packed panel, or columns of a matrix where they lie.
struct AdjacentRows {
  const float* at;
  std::int64_t stride;  // from k to k + 1
};

// B packed.
template <int kRows, int kVectors, bool kFetch = false>
void Tile(AdjacentRows a, const float* HWY_RESTRICT b, std::int64_t depth, const TileOutput& out,
          const FetchList* fetch = nullptr) {
  Sums<kRows, kVectors> sums;
  sums.Start(out);
  for (std::int64_t k = 0; k < depth; ++k) {
    hn::Vec<F32> column[kVectors];
    if constexpr (kFetch) __builtin_prefetch(fetch->at[k], 0, 2);
    LoadColumns(b, column);
    sums.Step([&](int i) HWY_ATTR { return a.at[i]; }, column);
    a.at += a.stride;
    b += kTileColumns;
  }
  sums.Finish(out);
}

// B is read where it lies and leaves a packed copy for the tiles that follow: packing hides behind the arithmetic.
template <int kRows>
void TilePackingB(AdjacentRows a, const float* const* HWY_RESTRICT b, std::int64_t depth, float* HWY_RESTRICT packed,
                  const TileOutput& out) {
  constexpr int kVectors = static_cast<int>(kTileVectors);
  Sums<kRows, kVectors> sums;
  sums.Start(out);
  for (std::int64_t k = 0; k < depth; ++k) {
    hn::Vec<F32> column[kVectors];
    LoadColumns(b[k], column);
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::Store(column[v], F32(), packed + v * sums.kLanes);
    sums.Step([&](int i) HWY_ATTR { return a.at[i]; }, column);
    a.at += a.stride;
    packed += kTileColumns;
  }
  sums.Finish(out);
}

// A is read where it lies.
template <int kVectors, bool kFetch>
void TileFromRows(const RowRun* runs, std::size_t run_count, const float* HWY_RESTRICT b, const TileOutput& out,
                  const FetchList& fetch) {
  constexpr int kRows = static_cast<int>(kTileRows);
  Sums<kRows, kVectors> sums;
  sums.Start(out);
  const float* const* next = fetch.at;
  for (std::size_t run = 0; run < run_count; ++run) {
    const auto rows = runs[run].rows;
    for (std::int64_t k = 0; k < runs[run].depth; ++k) {
      hn::Vec<F32> column[kVectors];
      if constexpr (kFetch) __builtin_prefetch(*next++, 0, 2);
      LoadColumns(b, column);
      sums.Step([&](int i) HWY_ATTR { return rows[static_cast<std::size_t>(i)][k]; }, column);
      b += kTileColumns;
    }
  }
  sums.Finish(out);
}

using TileFn = void (*)(AdjacentRows a, const float* b, std::int64_t depth, const TileOutput& out, const FetchList* fetch);
using TilePackingBFn = void (*)(AdjacentRows a, const float* const* b, std::int64_t depth, float* packed,
                                const TileOutput& out);

// Tiles of fewer rows or vectors serve what is left at the bottom and at the right of C: kTiles[rows - 1][vectors - 1].
template <std::size_t... kIndex>
constexpr auto MakeTiles(std::index_sequence<kIndex...>) {
  return std::array<std::array<TileFn, 2>, sizeof...(kIndex)>{
      {{&Tile<static_cast<int>(kIndex) + 1, 1>, &Tile<static_cast<int>(kIndex) + 1, 2>}...}};
}
template <std::size_t... kIndex>
constexpr auto MakeTilesPackingB(std::index_sequence<kIndex...>) {
  return std::array<TilePackingBFn, sizeof...(kIndex)>{&TilePackingB<static_cast<int>(kIndex) + 1>...};
}
inline constexpr auto kTiles = MakeTiles(std::make_index_sequence<static_cast<std::size_t>(kTileRows)>());
inline constexpr auto kTilesPackingB = MakeTilesPackingB(std::make_index_sequence<static_cast<std::size_t>(kTileRows)>());
static_assert(kTileVectors == 2);

}  // namespace assay::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
