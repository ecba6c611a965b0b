// AMX-int8: tiles of 16 rows by 64 bytes; one instruction multiplies two of them into 16 x 16 sums. A chunk of a line is one row of a tile and
// a plane of a panel two tiles side by side. Tiles 0 to 2 are the sums of the orders, 3 to 5 the digits of the panel, 6 those of the lines.
// The panel's digits have the same offset as for VNNI, so that both read the same panels; the sums start at the lines' `start`.
//
// `Tiles` is the instructions: the processor's, or a model of them that a test substitutes.
#if defined(ASSAY_BACKEND_CPU_DIGIT_AMX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_BACKEND_CPU_DIGIT_AMX_INL_H_
#undef ASSAY_BACKEND_CPU_DIGIT_AMX_INL_H_
#else
#define ASSAY_BACKEND_CPU_DIGIT_AMX_INL_H_
#endif

#include <cstdint>
#include <cstring>

#include "assay/backend/cpu/digit_tile-inl.h"

#if HWY_TARGET == HWY_AVX3
HWY_BEFORE_NAMESPACE();
namespace assay::cpu::HWY_NAMESPACE::digit {

inline constexpr std::int64_t kTileLines = 16, kTileBytes = 64;

struct alignas(64) TileShapes {
  std::uint8_t palette, start_row;
  std::uint8_t reserved[14];
  std::uint16_t row_bytes[16];
  std::uint8_t rows[16];
};

inline TileShapes WholeTiles() {
  TileShapes shapes{};
  shapes.palette = 1;
  for (int t = 0; t < 8; ++t) {
    shapes.row_bytes[t] = kTileBytes;
    shapes.rows[t] = kTileLines;
  }
  return shapes;
}

// The processor's instructions, as the assembler knows them: compilers of this age disagree about their intrinsics.
class ProcessorTiles {
 public:
  HWY_INLINE ProcessorTiles() {
    const TileShapes shapes = WholeTiles();
    asm volatile("ldtilecfg %0" : : "m"(shapes) : "memory");
  }
  HWY_INLINE ~ProcessorTiles() { asm volatile("tilerelease" : : : "memory"); }
  ProcessorTiles(const ProcessorTiles&) = delete;
  ProcessorTiles& operator=(const ProcessorTiles&) = delete;

  template <int kTile>
  HWY_INLINE void Load(const void* from, std::int64_t stride) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  template <int kTile>
  HWY_INLINE void Store(void* to, std::int64_t stride) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" : : "r"(to), "r"(stride), "i"(kTile) : "memory");
  }
  // sums += signed bytes of a, row by row, times bytes without a sign of b, four rows of columns in one.
  template <int kSum, int kA, int kB>
  HWY_INLINE void Multiply() {
    asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSum), "i"(kA), "i"(kB));
  }
};

class ModelTiles {
 public:
  template <int kTile>
  void Load(const void* from, std::int64_t stride) {
    for (std::int64_t r = 0; r < kTileLines; ++r) {
      std::memcpy(tiles_[kTile][r], static_cast<const char*>(from) + r * stride, static_cast<std::size_t>(kTileBytes));
    }
  }
  template <int kTile>
  void Store(void* to, std::int64_t stride) {
    for (std::int64_t r = 0; r < kTileLines; ++r) {
      std::memcpy(static_cast<char*>(to) + r * stride, tiles_[kTile][r], static_cast<std::size_t>(kTileBytes));
    }
  }
  template <int kSum, int kA, int kB>
  void Multiply() {
    for (std::int64_t m = 0; m < kTileLines; ++m) {
      for (std::int64_t n = 0; n < 16; ++n) {
        std::uint32_t sum;
        std::memcpy(&sum, &tiles_[kSum][m][4 * n], 4);
        for (std::int64_t k = 0; k < kTileBytes; ++k) {
          const std::int32_t a = static_cast<std::int8_t>(tiles_[kA][m][k]), b = tiles_[kB][k / 4][4 * n + k % 4];
          sum += static_cast<std::uint32_t>(a * b);
        }
        std::memcpy(&tiles_[kSum][m][4 * n], &sum, 4);
      }
    }
  }

 private:
  std::uint8_t tiles_[8][kTileLines][kTileBytes] = {};
};

template <int kDigitCount, class Tiles>
struct Amx : Format<kDigitCount, 4, true> {
  using Base = Format<kDigitCount, 4, true>;
  static constexpr int kSums = kDigitCount;
  static constexpr int kRows = kTileLines;
  static_assert(kRows <= kMaxRows && Base::kLinePlane == kTileBytes);

  // A tile's rows lie at one distance from each other; lines may not.
  static const std::uint8_t* Even(const Tile& tile, std::uint8_t* copy, std::int64_t& stride) {
    stride = tile.rows[1] - tile.rows[0];
    bool even = true;
    for (int r = 2; r < kRows; ++r) even = even && tile.rows[r] - tile.rows[r - 1] == stride;
    if (even) return tile.rows[0] + sizeof(LineHeader);
    const std::int64_t bytes = tile.chunks * Base::kLinePlanes * Base::kLinePlane;
    stride = kCopyStride;
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(copy + r * stride, tile.rows[r] + sizeof(LineHeader), static_cast<std::size_t>(bytes));
    }
    return copy;
  }
  static constexpr std::int64_t kCopyStride = Base::LineBytes(kBlock);  // an odd number of cache lines

  template <int kLinePlane, int kPanelPlane>
  static HWY_INLINE void MultiplyPlanes(Tiles& tiles) {
    if constexpr (kLinePlane + kPanelPlane < kDigitCount) {
      tiles.template Multiply<kLinePlane + kPanelPlane, 6, 3 + kPanelPlane>();
      if constexpr (kPanelPlane + 1 < kDigitCount) MultiplyPlanes<kLinePlane, kPanelPlane + 1>(tiles);
    }
  }

  static HWY_INLINE void MultiplyChunk(Tiles& tiles, const std::uint8_t* lines, std::int64_t stride,
                                       const std::uint8_t* panel) {
    constexpr std::int64_t kRowBytes = kDigitColumns * 4;
    tiles.template Load<3>(panel, kRowBytes);
    tiles.template Load<4>(panel + Base::kPanelPlane, kRowBytes);
    if constexpr (kDigitCount == 3) tiles.template Load<5>(panel + 2 * Base::kPanelPlane, kRowBytes);
    tiles.template Load<6>(lines, stride);
    MultiplyPlanes<0, 0>(tiles);
    tiles.template Load<6>(lines + Base::kLinePlane, stride);
    MultiplyPlanes<1, 0>(tiles);
    if constexpr (kDigitCount == 3) {
      tiles.template Load<6>(lines + 2 * Base::kLinePlane, stride);
      MultiplyPlanes<2, 0>(tiles);
    }
  }

  static HWY_NOINLINE void Run(const Tile& tile) {
    Tiles tiles;
    HWY_ALIGN std::uint8_t copy[kRows * kCopyStride];
    HWY_ALIGN std::int32_t sums[kSums][kRows][kDwords];
    std::int64_t stride;
    const std::uint8_t* lines = Even(tile, copy, stride);
    for (int v = 0; v < kVectors && v * kDwords < tile.columns; ++v) {
      for (int s = 0; s < kSums; ++s) {
        for (int r = 0; r < kRows; ++r) hn::Store(hn::Set(I32(), Header(tile.rows[r]).start[s]), I32(), sums[s][r]);
      }
      tiles.template Load<0>(sums[0], kTileBytes);
      tiles.template Load<1>(sums[1], kTileBytes);
      if constexpr (kDigitCount == 3) tiles.template Load<2>(sums[2], kTileBytes);
      for (std::int64_t c = 0; c < tile.chunks; ++c) {
        MultiplyChunk(tiles, lines + c * Base::kLinePlanes * Base::kLinePlane, stride,
                      tile.panel + Base::kPanelHeader + c * Base::kPanelPlanes * Base::kPanelPlane + v * kTileBytes);
      }
      tiles.template Store<0>(sums[0], kTileBytes);
      tiles.template Store<1>(sums[1], kTileBytes);
      if constexpr (kDigitCount == 3) tiles.template Store<2>(sums[2], kTileBytes);
      for (int r = 0; r < kRows; ++r) {
        VI orders[kSums];
        for (int s = 0; s < kSums; ++s) orders[s] = hn::Load(I32(), sums[s][r]);
        AddTotals(tile, r, v, Join<kDigitCount, kSums>(orders));
      }
    }
  }
};

template <int kDigitCount>
using AmxProcessor = Amx<kDigitCount, ProcessorTiles>;
template <int kDigitCount>
using AmxModel = Amx<kDigitCount, ModelTiles>;

}  // namespace assay::cpu::HWY_NAMESPACE::digit
HWY_AFTER_NAMESPACE();
#endif

#endif
