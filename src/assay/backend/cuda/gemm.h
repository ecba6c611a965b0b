// Which tile and how many slices of K the matmul core (gemm-inl.h) uses for a problem. Every choice gives the same bytes; this
// one is meant to be fast. A pure function of the problem, the device and the tuning.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "assay/backend/cuda/kernels.h"
#include "assay/ops/matmul_geometry.h"

namespace assay::cuda::gemm {

inline constexpr int kBlock = 256;  // of contract(K) in docs/NUMERICS.md

// out[batch, m, n], each element a contraction over k. Nothing is 0 but k.
struct Extents {
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool a_singly = false, b_singly = false;  // whether an operand is copied one value at a time, which takes longer
  std::int64_t blocks() const { return (k + kBlock - 1) / kBlock; }
};

inline constexpr int kUsualDepth = 16;  // values of k that a kernel loads at a time

// The tiles of the core, in the order of Tuning::gemm_tile.
struct TileSpec {
  int m, n;
  int warps;       // of a thread block
  int resident;    // thread blocks that fit on a multiprocessor
  double cycles;   // that a fully loaded multiprocessor takes for one value of k of one tile
  int groups = 1;  // of a thread block's warps, each of which computes the tile for blocks of k of its own
  int depth = kUsualDepth;
};
inline constexpr TileSpec kTiles[] = {
    {128, 128, 8, 2, 145.6}, {128, 64, 4, 3, 75.7}, {64, 128, 4, 3, 74.3},
    {64, 64, 2, 6, 41.8},    {64, 64, 4, 5, 40.5},  {48, 64, 12, 1, 39.5, 3, 32},
};
inline constexpr int kTileCount = static_cast<int>(sizeof(kTiles) / sizeof(kTiles[0]));
inline constexpr unsigned kAllTiles = (1u << kTileCount) - 1;
inline constexpr unsigned kUngroupedTiles = 0b011111;
inline constexpr unsigned kRareTiles = 0b001001;  // for matrices that cannot be copied four values at a time

// Shared memory of a thread block: for each group two slabs of either operand, and the totals.
inline std::size_t SharedBytes(const TileSpec& tile) {
  return static_cast<std::size_t>(4 * tile.groups * (tile.m * tile.n + 2 * tile.depth * (tile.m + tile.n + 8)));
}

// K in slices of whole blocks, each for a thread block of its own. The first may be longer: its blocks are added up on the spot,
// whereas the sums of the others wait in memory for the total before them. Slices are computed and added up in one or more
// passes, so that fewer sums wait at a time.
struct Choice {
  int tile = 0;
  int slices = 1;
  int first_blocks = 1;  // of the first slice
  int slice_blocks = 1;  // of each other but the last
  int pass_slices = 1;   // of each pass but the last
};

inline std::int64_t CeilDiv(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

inline Choice Cut(const Extents& e, int tile, std::int64_t first_blocks, std::int64_t slice_blocks) {
  const std::int64_t blocks = e.blocks() > 0 ? e.blocks() : 1;
  if (first_blocks > blocks) first_blocks = blocks;
  const int slices = static_cast<int>(1 + CeilDiv(blocks - first_blocks, slice_blocks));
  return {tile, slices, static_cast<int>(first_blocks), static_cast<int>(slice_blocks), slices};
}

// The blocks before a slice.
inline std::int64_t BlocksBefore(const Extents& e, const Choice& c, int slice) {
  if (slice == 0) return 0;
  return std::min<std::int64_t>(c.first_blocks + std::int64_t{slice - 1} * c.slice_blocks, e.blocks());
}

// Sums that wait in scratch memory for the ones before them, and the total of those that do not.
inline std::int64_t Slots(const Extents& e, const Choice& c) {
  if (c.slices == 1) return 0;
  if (c.pass_slices == c.slices) return 1 + e.blocks() - c.first_blocks;
  return 1 + std::int64_t{c.pass_slices} * c.slice_blocks;
}

// The part of its full speed that a multiprocessor reaches with so many warps at work.
inline double SpeedOf(std::int64_t warps) {
  constexpr double kSpeed[] = {0.19, 0.35, 0.45, 0.55, 0.72, 0.89, 0.91, 0.94, 0.96, 0.97, 0.99, 1.0};
  return kSpeed[(warps < 12 ? warps : 12) - 1];
}

// What the choice is expected to take in one pass, and what each further pass adds, in cycles. The constants were fitted to
// measurements on an H200 (gpu_bench --tiles).
inline constexpr double kStart = 5600, kSecondKernel = 2300, kPass = kStart + kSecondKernel;
inline double Cycles(const Extents& e, const Choice& c, int multiprocessors) {
  constexpr double kEnd = 0.19, kSingly = 0.054, kSlot = 57, kBytes = 2950;
  const TileSpec& tile = kTiles[c.tile];
  const std::int64_t tiles = CeilDiv(e.m, tile.m) * CeilDiv(e.n, tile.n) * e.batch;
  const double each_k = tile.cycles + kSingly * ((e.a_singly ? tile.m : 0) + (e.b_singly ? tile.n : 0));
  const double end = kEnd * tile.m * tile.n;
  if (c.slices == 1) {
    // The busiest multiprocessor: rounds of as many thread blocks as fit, then what is left. The groups take as long as the first.
    const std::int64_t before = (CeilDiv(e.k, tile.groups * kBlock) - 1) * kBlock;
    const std::int64_t k =
        tile.groups == 1 ? e.k : tile.groups * (before + std::min<std::int64_t>(e.k - tile.groups * before, kBlock));
    const double each = static_cast<double>(k) * each_k + end;
    const std::int64_t most = CeilDiv(tiles, multiprocessors), rest = most % tile.resident;
    const double last_round = rest > 0 ? static_cast<double>(rest) * each / SpeedOf(rest * tile.warps) : 0.0;
    return kStart + static_cast<double>(most - rest) * each + last_round;
  }
  const std::int64_t pieces = tiles * c.slices, share = CeilDiv(pieces, multiprocessors);
  const std::int64_t at_once = share < tile.resident ? share : tile.resident;
  const double speed = SpeedOf(at_once * tile.warps), block = kBlock * each_k;
  const double longest_blocks = c.first_blocks > c.slice_blocks ? c.first_blocks : c.slice_blocks;
  const double longest = static_cast<double>(at_once) * (longest_blocks * block / speed + end);
  const double work = (static_cast<double>(tiles * e.k) * each_k + static_cast<double>(pieces) * end) / multiprocessors / speed;
  // When there are more pieces than places, the last ones leave some of the places empty.
  const double left = share <= tile.resident ? 0.0 : 0.4 * c.slice_blocks * block * tile.resident;
  const double sums = static_cast<double>(Slots(e, c)) * (kSlot + 4.0 * static_cast<double>(e.batch * e.m * e.n) / kBytes);
  return kStart + kSecondKernel + (work + left > longest ? work + left : longest) + sums;
}

// The choice in so many passes that at most about `most` elements wait: each pass does what the whole did, with shorter slices.
inline Choice InPasses(const Extents& e, const Choice& c, std::int64_t most) {
  const std::int64_t passes = CeilDiv(Slots(e, c) * e.batch * e.m * e.n, most);
  if (passes <= 1) return c;
  Choice shorter = Cut(e, c.tile, CeilDiv(c.first_blocks, passes), CeilDiv(c.slice_blocks, passes));
  shorter.pass_slices = static_cast<int>(CeilDiv(shorter.slices, passes));
  return shorter;
}

// Sums that may wait, in elements.
inline constexpr std::int64_t kMostWaiting = 40'000'000;

// Of the tiles in the set. With a forced number of slices they are equally long. Tiles with groups take all of K.
inline Choice Choose(const Extents& e, unsigned tiles, const Context& context) {
  const int tuned_tile = context.tuning().gemm_tile, tuned_slices = context.tuning().gemm_split;
  const std::int64_t blocks = e.blocks() > 0 ? e.blocks() : 1;
  Choice best;
  double least = -1;
  const std::int64_t most = context.tuning().gemm_waiting > 0 ? context.tuning().gemm_waiting : kMostWaiting;
  const auto consider = [&](const Choice& whole) {
    const Choice choice = InPasses(e, whole, most);
    if (tuned_slices == 0 && Slots(e, choice) * e.batch * e.m * e.n > most) return;
    const double passes = static_cast<double>(CeilDiv(choice.slices, choice.pass_slices));
    const double cycles = Cycles(e, whole, context.multiprocessors()) + (passes - 1) * kPass;
    if (least < 0 || cycles < least) best = choice, least = cycles;
  };
  for (int tile = 0; tile < kTileCount; ++tile) {
    if (SharedBytes(kTiles[tile]) > context.max_shared_bytes()) tiles &= ~(1u << tile);
  }
  int place = tuned_tile > 0 ? (tuned_tile - 1) % std::popcount(tiles) : -1;  // of the forced tile in the set
  for (int tile = 0; tile < kTileCount; ++tile) {
    if ((tiles >> tile & 1) == 0) continue;
    if (tuned_tile > 0 && place-- != 0) continue;
    if (kTiles[tile].groups > 1) {
      consider(Cut(e, tile, blocks, 1));
      continue;
    }
    if (tuned_slices > 0) {
      const std::int64_t each = CeilDiv(blocks, tuned_slices < blocks ? tuned_slices : blocks);
      consider(Cut(e, tile, each, each));
      continue;
    }
    consider(Cut(e, tile, blocks, 1));
    if (CeilDiv(e.m, kTiles[tile].m) * CeilDiv(e.n, kTiles[tile].n) * e.batch > 8 * context.multiprocessors()) continue;
    consider(Cut(e, tile, 1, 1));
    for (const int slices : {2, 3, 4, 5, 6, 8, 11, 16, 22, 32, 44, 64, 128, 256, 512, 1024}) {
      if (slices <= blocks) consider(Cut(e, tile, CeilDiv(blocks, slices), CeilDiv(blocks, slices)));
    }
    for (const int eighths : {1, 2, 3, 4, 6}) {
      for (const int slice : {1, 2, 3, 5}) {
        if (const std::int64_t first = blocks * eighths / 8; first > slice) consider(Cut(e, tile, first, slice));
      }
    }
  }
  return best;
}

// Enqueues a matrix product (matmul.cu). Calls Context::Scratch.
void Product(const ops::MatmulGeometry& g, const float* a, const float* b, float* out, Context& context);
// What it chooses for its first launch; there are more only for very large operands. Nothing of g is 0 but k.
Choice ChoiceFor(const ops::MatmulGeometry& g, const Context& context);

}  // namespace assay::cuda::gemm
