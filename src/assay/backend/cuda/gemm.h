// Which tile and how many slices of K the matmul core (gemm-inl.h) uses for a problem. Every choice gives the same bytes; this one is meant to be
// fast. A pure function of the problem, the device and the tuning.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/backend/cuda/kernels.h"
#include "assay/ops/matmul_geometry.h"

namespace assay::cuda::gemm {

inline constexpr int kBlock = 256;  // of contract(K) in docs/NUMERICS.md

// out[batch, m, n], each element a contraction over k. Nothing is 0 but k.
struct Extents {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  std::int64_t blocks() const { return (k + kBlock - 1) / kBlock; }
};

// The tiles of the core, in the order of Tuning::gemm_tile.
struct TileSpec {
  int m, n;
  int resident;      // thread blocks on a multiprocessor
  double cycles;     // of a multiprocessor with enough of them for one value of k of one tile
  double start, end;  // cycles before the first and after the last value of k
};
inline constexpr TileSpec kTiles[] = {
    {128, 128, 2, 160, 2000, 2000},
    {64, 128, 4, 82, 2000, 1500},
    {128, 64, 4, 82, 2000, 1500},
    {64, 64, 8, 44, 2000, 1000},
};
inline constexpr int kTileCount = static_cast<int>(sizeof(kTiles) / sizeof(kTiles[0]));

struct Choice {
  int tile = 0;
  int slices = 1;
  int slice_blocks = 1;  // blocks of K in each slice but the last
};

inline std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// K in about `slices` slices of equal length.
inline Choice Cut(const Extents& e, int tile, std::int64_t slices) {
  const std::int64_t blocks = e.blocks() > 0 ? e.blocks() : 1;
  const std::int64_t slice_blocks = CeilDiv(blocks, slices < blocks ? slices : blocks);
  return {tile, static_cast<int>(CeilDiv(blocks, slice_blocks)), static_cast<int>(slice_blocks)};
}

// Sums that wait in scratch memory for the ones before them.
inline std::int64_t Slots(const Extents& e, const Choice& c) { return c.slices == 1 ? 0 : 1 + e.blocks() - c.slice_blocks; }

// What the choice is expected to take, in cycles.
inline double Cycles(const Extents& e, const Choice& c, int multiprocessors) {
  const TileSpec& tile = kTiles[c.tile];
  const double work = static_cast<double>(CeilDiv(e.m, tile.m) * CeilDiv(e.n, tile.n) * e.batch * c.slices);
  const double depth = static_cast<double>(c.slices == 1 ? e.k : static_cast<std::int64_t>(c.slice_blocks) * kBlock);
  const double each = depth * tile.cycles + tile.end;
  const double full = static_cast<double>(static_cast<std::int64_t>(work / multiprocessors));
  const double rest = work - full * multiprocessors;
  double cycles = tile.start + full * each;
  if (rest > 0) cycles += each;
  // Too few thread blocks at a time leave a multiprocessor waiting.
  const double most = full + (rest > 0 ? 1 : 0);
  const double warps = most * tile.m * tile.n / 2048;
  if (warps < 16) cycles += each * most * 0.15 * (16 - warps) / 8;
  if (c.slices > 1) {
    const double bytes = 4.0 * static_cast<double>(e.batch * e.m * e.n) * static_cast<double>(Slots(e, c));
    cycles += 6000 + bytes / 1500;  // written, and read again
  }
  return cycles;
}

inline Choice Choose(const Extents& e, const Context& context) {
  const int forced_tile = context.tuning().gemm_tile, forced_split = context.tuning().gemm_split;
  Choice best;
  double best_cycles = -1;
  for (int tile = 0; tile < kTileCount; ++tile) {
    if (forced_tile > 0 && tile != (forced_tile - 1) % kTileCount) continue;
    const std::int64_t most = forced_split > 0 ? forced_split : (e.blocks() < 64 ? e.blocks() : 64);
    for (std::int64_t slices = forced_split > 0 ? forced_split : 1; slices <= (most > 0 ? most : 1); ++slices) {
      const Choice choice = Cut(e, tile, slices);
      const double cycles = Cycles(e, choice, context.multiprocessors());
      if (best_cycles < 0 || cycles < best_cycles) best = choice, best_cycles = cycles;
    }
  }
  return best;
}

// Enqueues a matrix product (matmul.cu). Calls Context::Scratch.
void Product(const ops::MatmulGeometry& g, const float* a, const float* b, float* out, Context& context);

}  // namespace assay::cuda::gemm
