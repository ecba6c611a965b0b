// The core of products of digits on Hopper.
//
// One thread block a multiprocessor, each with a share of all blocks of K of all tiles. One warp copies slices of digits into slots of shared memory; two
// groups of four warps multiply them, 64 rows of the tile each. A tile whose blocks are shared by two thread blocks is begun by the first one, which does
// so before all its other work, and ended by the second, which does so after all its other work: nobody waits long.
//
// For .cu files that are compiled for sm_90a.
#pragma once

#include <cstdint>

#include "assay/backend/cuda/digit_gemm.h"
#include "assay/backend/cuda/hopper/wgmma-inl.h"
#include "assay/numerics/device-inl.h"

namespace assay::cuda::digits {

inline constexpr int kHalf = 128;  // values of K in a slot: half a block, a swizzled row

// What a block's slots hold, in the order in which they are filled. The lower digits of the first half have slots of their own, which are let go of halfway
// through a block. The others lie in a ring one after the other, and the next block begins in the slot before this one's: it is free, and the one after it,
// which held the first half, is let go of halfway, too. So half of the next block is there when it begins.
template <int n>
struct Slots;
template <>
struct Slots<3> {
  static constexpr int kPerBlock = 6, kCount = 7, kRing = 5;
  static __device__ constexpr int DigitOf(int i) { return i < 2 ? 2 : 1 - i % 2; }
  static __device__ constexpr int HalfOf(int i) { return i < 2 ? i : i / 2 - 1; }
  static __device__ constexpr int OwnOf(int i) { return i == 2 || i == 3 ? kRing + i - 2 : -1; }
  static __device__ constexpr int InRing(int i) { return i < 2 ? i : i - 2; }
};
template <>
struct Slots<2> {
  static constexpr int kPerBlock = 4, kCount = 5, kRing = 4;
  static __device__ constexpr int DigitOf(int i) { return 1 - i / 2; }
  static __device__ constexpr int HalfOf(int i) { return i % 2; }
  static __device__ constexpr int OwnOf(int i) { return i == 2 ? kRing : -1; }
  static __device__ constexpr int InRing(int i) { return i < 2 ? i : i - 1; }
};

// Where the slots of a block lie.
template <int n>
struct SlotState {
  int base = 0;
  unsigned phases = 0;  // a bit for each slot: how often it was filled, modulo 2
  __device__ __forceinline__ int at(int i) const {
    using S = Slots<n>;
    if (S::OwnOf(i) >= 0) return S::OwnOf(i);
    const int slot = base + S::InRing(i);
    return slot < S::kRing ? slot : slot - S::kRing;
  }
  __device__ __forceinline__ unsigned phase(int i) const { return phases >> at(i) & 1; }
  __device__ __forceinline__ void Next() {
    const int before = base == 0 ? Slots<n>::kRing - 1 : base - 1;
    phases ^= ((1u << Slots<n>::kCount) - 1u) ^ (1u << before);  // the spare one was not filled
    base = before;
  }
};

template <int n>
struct Layout {
  static constexpr int kTileN = TileN(n), kBytesA = kTileM * kHalf, kBytesB = kTileN * kHalf, kSlotBytes = kBytesA + kBytesB;
  static constexpr int kScales = Slots<n>::kCount * kSlotBytes;  // where they begin: two buffers of a's and b's
  static constexpr int kScaleBytes = (kTileM + kTileN) * 4;
  static constexpr int kBarriers = kScales + 2 * kScaleBytes;
  static constexpr int kBytes = kBarriers + (2 * Slots<n>::kCount + 2) * 8;
};

// Blocks [first, end) of a tile.
struct Segment {
  std::int64_t tile;
  int first, end;
};

// The work of one thread block. Whole waves of tiles are dealt out one by one, so that neighbours in time are neighbours in place. The blocks of K of the
// tiles that are left, which are more than one wave if there was one, are shared out evenly: unit u is block u mod blocks of tile u div blocks of them.
class Share {
 public:
  __device__ Share(const DigitGemm& g) : blocks_(g.blocks), waves_(g.waves) {
    const std::int64_t count = gridDim.x, i = blockIdx.x, shared = g.tiles() - waves_ * count, units = shared * blocks_;
    base_ = waves_ * count;
    begin_ = units * i / count;
    end_ = units * (i + 1) / count;
    const std::int64_t first = begin_ / blocks_, last = (end_ - 1) / blocks_;
    parts_ = end_ > begin_ ? static_cast<int>(last - first + 1) : 0;
    // The last tile first, unless it is ended here; the first one last, unless it is begun here.
    head_ = end_ % blocks_ != 0 && parts_ > 1;
    tail_ = begin_ % blocks_ != 0 && parts_ > 1;
  }
  __device__ int segments() const { return parts_ + static_cast<int>(waves_); }
  __device__ Segment Get(int i) const {
    const int dealt = i - (head_ ? 1 : 0);
    if (dealt >= 0 && dealt < waves_) return {dealt * std::int64_t{gridDim.x} + blockIdx.x, 0, blocks_};
    if (dealt >= waves_) i -= static_cast<int>(waves_);
    const std::int64_t first = begin_ / blocks_;
    std::int64_t tile;
    if (head_ && i == 0) {
      tile = first + parts_ - 1;
    } else if (tail_ && i == parts_ - 1) {
      tile = first;
    } else {
      tile = first + i - (head_ ? 1 : 0) + (tail_ ? 1 : 0);
    }
    const std::int64_t start = tile * blocks_;
    return {base_ + tile, static_cast<int>((begin_ > start ? begin_ : start) - start),
            static_cast<int>((end_ < start + blocks_ ? end_ : start + blocks_) - start)};
  }

 private:
  std::int64_t base_, begin_, end_, waves_;
  int blocks_, parts_;
  bool head_, tail_;
};

// Where a tile is. Neighbours in time share rows of b, and rows of a among a few: both stay in the cache.
struct Place {
  int batch, m, n;  // the first row of a and of b, within their matrices
};
template <int n>
__device__ Place PlaceOf(const DigitGemm& g, std::int64_t tile) {
  constexpr int kGroup = 16;
  const std::int64_t per_matrix = std::int64_t{g.tiles_m} * g.tiles_n;
  const int batch = static_cast<int>(tile / per_matrix), t = static_cast<int>(tile % per_matrix);
  const int group = t / (kGroup * g.tiles_n), rest = t % (kGroup * g.tiles_n);
  const int rows = min(kGroup, g.tiles_m - group * kGroup);
  return {batch, (group * kGroup + rest % rows) * kTileM, rest / rows * TileN(n)};
}

// The two buffers of scales are filled and emptied in turn.
struct Turn {
  int slot = 0;
  unsigned phase = 0;
  __device__ void Next() {
    slot ^= 1;
    phase ^= slot == 0 ? 1 : 0;
  }
};

template <int n>
__device__ void Produce(const DigitGemm& g, const CUtensorMap* a, const CUtensorMap* b, char* shared) {
  using L = Layout<n>;
  using S = Slots<n>;
  auto* full = reinterpret_cast<std::uint64_t*>(shared + L::kBarriers);
  std::uint64_t *empty = full + S::kCount, *scales_free = empty + S::kCount;
  const Share share(g);
  SlotState<n> slots;
  Turn scales;
  for (int s = 0; s < share.segments(); ++s) {
    const Segment segment = share.Get(s);
    const Place place = PlaceOf<n>(g, segment.tile);
    const int row_a = place.batch * g.a.batch_rows + place.m, row_b = place.batch * g.b.batch_rows + place.n;
    for (int block = segment.first; block < segment.end; ++block) {
#pragma unroll
      for (int i = 0; i < S::kPerBlock; ++i) {
        hopper::Await(&empty[slots.at(i)], slots.phase(i) ^ 1);
        std::uint64_t* const barrier = &full[slots.at(i)];
        char* const slot = shared + slots.at(i) * L::kSlotBytes;
        if (i == 0) {
          // The block's scales come with its first slot.
          hopper::Await(&scales_free[scales.slot], scales.phase ^ 1);
          char* const to = shared + L::kScales + scales.slot * L::kScaleBytes;
          hopper::ArriveExpecting(barrier, L::kSlotBytes + L::kScaleBytes);
          hopper::CopyBytes(to, g.a.scales + std::int64_t{block} * g.a.rows + row_a, kTileM * 4, barrier);
          hopper::CopyBytes(to + kTileM * 4, g.b.scales + std::int64_t{block} * g.b.rows + row_b, L::kTileN * 4, barrier);
          scales.Next();
        } else {
          hopper::ArriveExpecting(barrier, L::kSlotBytes);
        }
        const int k = block * kBlock + S::HalfOf(i) * kHalf;
        hopper::CopyBox(slot, a, k, row_a, S::DigitOf(i), barrier);
        hopper::CopyBox(slot + L::kBytesA, b, k, row_b, S::DigitOf(i), barrier);
      }
      slots.Next();
    }
  }
}

// The sums of products of one block. Take(i) waits for slot i of the block and gives a's and b's operand; Drop(i) lets go of it.
struct Pair {
  std::uint64_t a, b;
};

template <int tile_n>
__device__ __forceinline__ void Multiply(std::int32_t (&d)[tile_n / 2], std::uint64_t a, std::uint64_t b, bool onto) {
#pragma unroll
  for (int k = 0; k < kHalf; k += 32) hopper::MultiplyAdd<tile_n>(d, hopper::Along(a, k), hopper::Along(b, k), onto || k > 0);
}

template <int count>
__device__ __forceinline__ void ShiftByDigit(std::int32_t (&d)[count]) {
  hopper::Pin(d);
#pragma unroll
  for (int i = 0; i < count; ++i) d[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(d[i]) << 8);
  hopper::Pin(d);
}

// Three digits: the upper orders in `upper`, the last in `last`.
template <int tile_n, class Take, class Drop>
__device__ __forceinline__ void SumBlock(std::int32_t (&upper)[tile_n / 2], std::int32_t (&last)[tile_n / 2], Take take,
                                         Drop drop) {
  const Pair top0 = take(0), top1 = take(1);
  hopper::BeginProducts();
  Multiply<tile_n>(upper, top0.a, top0.b, false);
  Multiply<tile_n>(upper, top1.a, top1.b, true);
  hopper::CommitProducts();
  const Pair middle0 = take(2), low0 = take(3);
  hopper::BeginProducts();
  Multiply<tile_n>(last, middle0.a, middle0.b, false);
  Multiply<tile_n>(last, top0.a, low0.b, true);
  Multiply<tile_n>(last, low0.a, top0.b, true);
  hopper::CommitProducts();
  hopper::AwaitProducts<1>();
  ShiftByDigit(upper);
  hopper::BeginProducts();
  Multiply<tile_n>(upper, top0.a, middle0.b, true);
  Multiply<tile_n>(upper, middle0.a, top0.b, true);
  hopper::CommitProducts();
  const Pair middle1 = take(4), low1 = take(5);
  hopper::BeginProducts();
  Multiply<tile_n>(upper, top1.a, middle1.b, true);
  Multiply<tile_n>(upper, middle1.a, top1.b, true);
  Multiply<tile_n>(last, middle1.a, middle1.b, true);
  Multiply<tile_n>(last, top1.a, low1.b, true);
  Multiply<tile_n>(last, low1.a, top1.b, true);
  hopper::CommitProducts();
  hopper::AwaitProducts<1>();
  drop(0), drop(2), drop(3);
  hopper::AwaitProducts<0>();
  drop(1), drop(4), drop(5);
  hopper::Pin(upper);
  hopper::Pin(last);
}

template <int tile_n, class Take, class Drop>
__device__ __forceinline__ void SumBlock(std::int32_t (&upper)[tile_n / 2], Take take, Drop drop) {
  const Pair top0 = take(0), top1 = take(1);
  hopper::BeginProducts();
  Multiply<tile_n>(upper, top0.a, top0.b, false);
  Multiply<tile_n>(upper, top1.a, top1.b, true);
  hopper::CommitProducts();
  hopper::AwaitProducts<0>();
  ShiftByDigit(upper);
  const Pair low0 = take(2);
  hopper::BeginProducts();
  Multiply<tile_n>(upper, top0.a, low0.b, true);
  Multiply<tile_n>(upper, low0.a, top0.b, true);
  hopper::CommitProducts();
  const Pair low1 = take(3);
  hopper::BeginProducts();
  Multiply<tile_n>(upper, top1.a, low1.b, true);
  Multiply<tile_n>(upper, low1.a, top1.b, true);
  hopper::CommitProducts();
  hopper::AwaitProducts<1>();
  drop(0), drop(2);
  hopper::AwaitProducts<0>();
  drop(1), drop(3);
  hopper::Pin(upper);
}

// Waits until the thread block before this one has left its totals.
__device__ __forceinline__ void AwaitFlag(const unsigned* flag) {
  unsigned value;
  do {
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  } while (value == 0);
}
__device__ __forceinline__ void SetFlag(unsigned* flag) { asm volatile("st.release.gpu.u32 [%0], 1;" ::"l"(flag) : "memory"); }

template <int n, bool lacks>
__device__ void Consume(const DigitGemm& g, int group, char* shared) {
  using L = Layout<n>;
  using S = Slots<n>;
  constexpr int kTileN = L::kTileN, kSums = kTileN / 2;
  auto* full = reinterpret_cast<std::uint64_t*>(shared + L::kBarriers);
  std::uint64_t *empty = full + S::kCount, *scales_free = empty + S::kCount;
  const int thread = threadIdx.x % 128, lane = thread % 32;
  const int row = 64 * group + thread / 32 * 16 + lane / 4, column = 2 * (lane % 4);
  const Share share(g);
  SlotState<n> slots;
  Turn scales;
  float totals[kSums];
  for (int s = 0; s < share.segments(); ++s) {
    const Segment segment = share.Get(s);
    // Totals wait in memory for the next thread block in the order of threads: whole lines are written and read.
    const auto waiting = [&](unsigned of) { return g.waiting + (std::int64_t{of} * 2 + group) * (kSums * 128) + thread; };
    if (segment.first > 0) {
      AwaitFlag(g.flags + (blockIdx.x - 1) * 2 + group);
      const float* const from = waiting(blockIdx.x - 1);
#pragma unroll
      for (int i = 0; i < kSums; ++i) totals[i] = __ldcg(from + i * 128);
    } else {
#pragma unroll
      for (int i = 0; i < kSums; ++i) totals[i] = 0.0f;
    }
    for (int block = segment.first; block < segment.end; ++block) {
      const auto take = [&](int i) {
        hopper::Await(&full[slots.at(i)], slots.phase(i));
        const char* const at = shared + slots.at(i) * L::kSlotBytes;
        return Pair{hopper::Operand(at + group * (64 * kHalf)), hopper::Operand(at + L::kBytesA)};
      };
      const auto drop = [&](int i) {
        if (lane == 0) hopper::Arrive(&empty[slots.at(i)]);
      };
      const char* const scale = shared + L::kScales + scales.slot * L::kScaleBytes;
      const auto* const of_a = reinterpret_cast<const float*>(scale) + row;
      const auto* const of_b = reinterpret_cast<const float2*>(scale + kTileM * 4 + column * 4);
      std::int32_t upper[kSums];
      const auto add = [&](const auto& joined) {
        const float a[2] = {of_a[0], of_a[8]};
#pragma unroll
        for (int j = 0; j < kTileN / 8; ++j) {
          const float2 b = of_b[4 * j];
#pragma unroll
          for (int i = 4 * j; i < 4 * j + 4; ++i) {
            const float row_scale = a[i / 2 % 2];
            const float scale = lacks && row_scale == 0.0f ? 0.0f : __fmul_rn(row_scale, i % 2 == 0 ? b.x : b.y);
            totals[i] = __fadd_rn(totals[i], __fmul_rn(joined(i), scale));
          }
        }
      };
      if constexpr (n == 3) {
        std::int32_t last[kSums];
        SumBlock<kTileN>(upper, last, take, drop);
        add([&](int i) { return numerics::JoinThree(upper[i], last[i]); });
      } else {
        SumBlock<kTileN>(upper, take, drop);
        add([&](int i) { return numerics::JoinTwo(upper[i]); });
      }
      __syncwarp();
      if (lane == 0) hopper::Arrive(&scales_free[scales.slot]);
      scales.Next();
      slots.Next();
    }
    if (segment.end < g.blocks) {
      float* const to = const_cast<float*>(waiting(blockIdx.x));
#pragma unroll
      for (int i = 0; i < kSums; ++i) __stcg(to + i * 128, totals[i]);
      __threadfence();
      asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
      if (thread == 0) SetFlag(g.flags + blockIdx.x * 2 + group);
      continue;
    }
    const Place place = PlaceOf<n>(g, segment.tile);
    float* const out = g.out + place.batch * g.batch_stride;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const std::int64_t m = place.m + row + 8 * r;
      if (m >= g.m) continue;
      float* const line = out + m * g.stride + place.n + column;
      const int left = static_cast<int>(min(g.n - place.n, std::int64_t{kTileN})) - column;
#pragma unroll
      for (int j = 0; j < kTileN / 8; ++j) {
        const float x = numerics::device::Device::Canonical(totals[4 * j + 2 * r]),
                    y = numerics::device::Device::Canonical(totals[4 * j + 2 * r + 1]);
        if (g.pairs) {
          if (8 * j < left) *reinterpret_cast<float2*>(line + 8 * j) = make_float2(x, y);
        } else {
          if (8 * j < left) line[8 * j] = x;
          if (8 * j + 1 < left) line[8 * j + 1] = y;
        }
      }
    }
  }
}

template <int n, bool lacks>
__global__ void __launch_bounds__(384, 1)
    MultiplyDigits(const __grid_constant__ DigitGemm g, const __grid_constant__ CUtensorMap a,
                   const __grid_constant__ CUtensorMap b) {
  extern __shared__ __align__(1024) char shared[];
  using L = Layout<n>;
  using S = Slots<n>;
  if (threadIdx.x == 0) {
    auto* const barriers = reinterpret_cast<std::uint64_t*>(shared + L::kBarriers);
    for (int i = 0; i < S::kCount; ++i) hopper::InitBarrier(barriers + i, 1), hopper::InitBarrier(barriers + S::kCount + i, 8);
    for (int i = 0; i < 2; ++i) hopper::InitBarrier(barriers + 2 * S::kCount + i, 8);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  const int group =
      __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0);  // the same for a whole warp, as the compiler sees
  if (group == 0) {
    hopper::GiveRegisters<40>();
    if (threadIdx.x == 0) Produce<n>(g, &a, &b, shared);
  } else {
    hopper::TakeRegisters<232>();
    Consume<n, lacks>(g, group - 1, shared);
  }
}

}  // namespace assay::cuda::digits
