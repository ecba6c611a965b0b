// The tiled matmul core of matmul.cu and conv2d.cu: out[m, n] = contract(K) of a(m, k) · b(n, k), whatever the operands are
// (gemm_load-inl.h).
//
// Order: a thread block computes a tile of the output. Each element belongs to one thread, which runs the chain of a block of
// 256 k in one register, ascending, from +0, and at the end of the block adds it to the element's total. Totals rest in shared
// memory meanwhile, so that registers are left for the chain. With K cut into slices, slice 0 gives the total of its blocks and
// every other slice the sums of its blocks one by one; SumSlots adds them in ascending order. Where groups of a thread block's
// warps share a tile, they run neighbouring blocks of k at the same time, and their sums are added in ascending order. So the
// tile, the slices and the groups change no bit.
//
// For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "assay/backend/cuda/gemm.h"
#include "assay/backend/cuda/gemm_load-inl.h"

namespace assay::cuda::gemm {

// A thread computes kTm x kTn outputs, a warp of 4 x 8 threads 4·kTm x 8·kTn. kMinBlocks thread blocks are to fit on a
// multiprocessor. A thread block is kGroups times kThreads threads: each group computes the tile for blocks of k of its own.
template <int kWarpsM, int kWarpsN, int kTm_, int kTn_, int kMinBlocks_, int kGroups_ = 1, int kDepth_ = kUsualDepth>
struct Tile {
  static constexpr int kTm = kTm_, kTn = kTn_, kMinBlocks = kMinBlocks_, kGroups = kGroups_;
  static constexpr int kVectorM = kTm % 4 == 0 ? 4 : 2;  // neighbouring rows of one thread
  static constexpr int kDepth = kDepth_, kStages = 2;
  static constexpr int kWarpM = 4 * kTm, kWarpN = 8 * kTn;
  static constexpr int kM = kWarpsM * kWarpM, kN = kWarpsN * kWarpN;
  static constexpr int kWarpsAcross = kWarpsN;
  static constexpr int kThreads = kWarpsM * kWarpsN * 32;
  static constexpr int kTotalsBytes = kM * kN * 4;
};

// Where the rows of the output lie.
struct PlainRows {
  std::int64_t ld, batch_stride;
  __device__ __forceinline__ std::int64_t Offset(std::int64_t batch, std::int64_t row) const {
    return batch * batch_stride + row * ld;
  }
  // Whether rows and matrices follow one another without a gap.
  bool Plain(std::int64_t m, std::int64_t n) const { return ld == n && batch_stride == m * n; }
};

// What a problem reads and writes.
template <class A, class B, class Rows>
struct Operands {
  A a;
  B b;
  Rows rows;
  float* out;
  bool vector_out;  // n is a multiple of four, and every row of the output begins at one
};

template <class A, class B, class Rows>
struct Args : Operands<A, B, Rows> {
  std::int64_t m = 0, n = 0, k = 0;
  float* slots = nullptr;  // [slot][batch][m][n], when K is cut into slices
  std::int64_t slot_stride = 0;
  int tiles_m = 0, tiles_n = 0;
  int first_slice = 0, slices = 0;  // of this pass
  int first_blocks = 0, slice_blocks = 0;
  bool sliced = false;
};

__device__ __forceinline__ float CanonicalNan(float x) { return x != x ? __int_as_float(0x7fc00000) : x; }

// Tiles that run at the same time should share operands in the L2 cache: bands of kBand rows of tiles, walked column by column.
struct Place {
  int m, n, slice;
  std::int64_t batch;
};

template <class A>
__device__ __forceinline__ Place PlaceOf(const A& args) {
  constexpr int kBand = 16;
  const unsigned tiles = static_cast<unsigned>(args.tiles_m) * static_cast<unsigned>(args.tiles_n);
  unsigned at = blockIdx.x % tiles, rest = blockIdx.x / tiles;
  const unsigned band_tiles = kBand * static_cast<unsigned>(args.tiles_n);
  const unsigned band = at / band_tiles;
  const unsigned height = min(kBand, args.tiles_m - static_cast<int>(band) * kBand);
  at -= band * band_tiles;
  Place place;
  place.m = static_cast<int>(band * kBand + at % height);
  place.n = static_cast<int>(at / height);
  place.slice = args.first_slice + static_cast<int>(rest % static_cast<unsigned>(args.slices));
  place.batch = rest / static_cast<unsigned>(args.slices);
  return place;
}

// The part of a tile that one thread computes: quads of columns, quads or pairs of rows, spread over its warp's part so that the
// warp reads shared memory without conflicts.
template <class T>
struct Thread {
  int m, n;  // of the first ones in the tile

  __device__ __forceinline__ explicit Thread(int thread) {
    const int lane = thread % 32, warp = thread / 32;
    m = warp / T::kWarpsAcross * T::kWarpM + (lane / 16 * 2 + lane % 2) * T::kVectorM;
    n = warp % T::kWarpsAcross * T::kWarpN + lane / 2 % 8 * 4;
  }
  static __device__ __forceinline__ constexpr int Row(int i) { return i / T::kVectorM * 4 * T::kVectorM + i % T::kVectorM; }
  static __device__ __forceinline__ constexpr int Column(int j) { return j / 4 * 32 + j % 4; }
};

template <int vector, int spread, int count>
__device__ __forceinline__ void Read(float (&to)[count], const float* from) {
#pragma unroll
  for (int i = 0; i < count; i += vector) {
    if constexpr (vector == 4) {
      const float4 q = *reinterpret_cast<const float4*>(from + i / vector * spread);
      to[i] = q.x, to[i + 1] = q.y, to[i + 2] = q.z, to[i + 3] = q.w;
    } else {
      const float2 q = *reinterpret_cast<const float2*>(from + i / vector * spread);
      to[i] = q.x, to[i + 1] = q.y;
    }
  }
}

// One k of either operand.
template <class T>
__device__ __forceinline__ void Read(float (&a)[T::kTm], float (&b)[T::kTn], const float* from_a, const float* from_b) {
  Read<T::kVectorM, 4 * T::kVectorM>(a, from_a);
  Read<4, 32>(b, from_b);
}

template <class T>
__device__ __forceinline__ void MultiplyAdd(float (&sum)[T::kTm][T::kTn], const float (&a)[T::kTm], const float (&b)[T::kTn]) {
#pragma unroll
  for (int i = 0; i < T::kTm; ++i) {
#pragma unroll
    for (int j = 0; j < T::kTn; ++j) {
      const int back_and_forth = i % 2 == 0 ? j : T::kTn - 1 - j;
      sum[i][back_and_forth] = __fmaf_rn(a[i], b[back_and_forth], sum[i][back_and_forth]);
    }
  }
}

// The thread's rows from `first` on.
template <class T, bool canonical, class Rows, int count>
__device__ __forceinline__ void Store(float* to, const Rows& rows, std::int64_t batch, std::int64_t m, std::int64_t n,
                                      std::int64_t m_end, std::int64_t n_end, bool vector, float (&sum)[count][T::kTn],
                                      int first = 0) {
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const std::int64_t row = m + Thread<T>::Row(first + i);
    if (row >= m_end) continue;
    float* line = to + rows.Offset(batch, row);
#pragma unroll
    for (int j = 0; j < T::kTn; j += 4) {
      const std::int64_t column = n + Thread<T>::Column(j);
      float q[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) q[e] = canonical ? CanonicalNan(sum[i][j + e]) : sum[i][j + e];
      if (vector) {
        if (column < n_end) *reinterpret_cast<float4*>(line + column) = make_float4(q[0], q[1], q[2], q[3]);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (column + e < n_end) line[column + e] = q[e];
        }
      }
    }
  }
}

template <class T>
__device__ __forceinline__ void Clear(float (&sum)[T::kTm][T::kTn]) {
#pragma unroll
  for (int i = 0; i < T::kTm; ++i) {
#pragma unroll
    for (int j = 0; j < T::kTn; ++j) sum[i][j] = 0.0f;
  }
}

// Lets the kernel that adds up the slots start its thread blocks; they wait for this one's end.
__device__ __forceinline__ void AllowNext() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
__device__ __forceinline__ void AwaitPrevious() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Ends a block of k: the sum joins the total, or goes out. Totals are kept in quads that begin with the second of four columns:
// quads are registers in a row, and so an element's sum and its column of B, the operands of its fma, come to lie in different
// banks of registers.
template <class T, class A>
__device__ __forceinline__ void Close(const A& args, float4* all_totals, int block, bool last, float (&sum)[T::kTm][T::kTn]) {
  const Place place = PlaceOf(args);
  const Thread<T> thread(ThreadAnew());
  const std::int64_t m = static_cast<std::int64_t>(place.m) * T::kM + thread.m,
                     n = static_cast<std::int64_t>(place.n) * T::kN + thread.n;
  if (place.slice == 0) {
    float4* const totals = all_totals + ThreadAnew();
    if (block > 0) {
#pragma unroll
      for (int i = 0; i < T::kTm; ++i) {
#pragma unroll
        for (int j = 0; j < T::kTn; j += 4) {
          const float4 q = totals[(i * T::kTn + j) / 4 * T::kThreads];
          sum[i][j + 1] = __fadd_rn(q.x, sum[i][j + 1]), sum[i][j + 2] = __fadd_rn(q.y, sum[i][j + 2]);
          sum[i][j + 3] = __fadd_rn(q.z, sum[i][j + 3]), sum[i][j] = __fadd_rn(q.w, sum[i][j]);
        }
      }
    }
    if (!last) {
#pragma unroll
      for (int i = 0; i < T::kTm; ++i) {
#pragma unroll
        for (int j = 0; j < T::kTn; j += 4) {
          totals[(i * T::kTn + j) / 4 * T::kThreads] = make_float4(sum[i][j + 1], sum[i][j + 2], sum[i][j + 3], sum[i][j]);
        }
      }
      return;
    }
    if (!args.sliced) {
      Store<T, true>(args.out, args.rows, place.batch, m, n, args.m, args.n, args.vector_out, sum);
      return;
    }
  }
  const int slot = place.slice == 0 ? 0 : (place.slice - max(args.first_slice, 1)) * args.slice_blocks + block + 1;
  Store<T, false>(args.slots + slot * args.slot_stride, PlainRows{args.n, args.m * args.n}, place.batch, m, n, args.m, args.n,
                  args.n % 4 == 0, sum);
}

// Ends a round of blocks of k, one for each group: every thread adds up all groups' sums of its share of the rows. Of `blocks`
// blocks, the last round may lack some.
template <class T>
struct Rounds {
  static constexpr int kRows = T::kTm / T::kGroups;
  float total[kRows][T::kTn];

  static __device__ __forceinline__ int At(int group, int i, int j) {
    return ((group * T::kTm + i) * T::kTn + j) / 4 * T::kThreads + ThreadAnew();
  }

  template <class A>
  __device__ __forceinline__ void Close(const A& args, float4* parts, int round, int blocks,
                                        const float (&sum)[T::kTm][T::kTn]) {
    static_assert(T::kTm % T::kGroups == 0);
    const int group = static_cast<int>(threadIdx.y), first = group * kRows;
#pragma unroll
    for (int i = 0; i < T::kTm; ++i) {
#pragma unroll
      for (int j = 0; j < T::kTn; j += 4) {
        parts[At(group, i, j)] = make_float4(sum[i][j + 1], sum[i][j + 2], sum[i][j + 3], sum[i][j]);
      }
    }
    __syncthreads();
#pragma unroll
    for (int g = 0; g < T::kGroups; ++g) {
      const int block = round * T::kGroups + g;
      if (block >= blocks) break;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
#pragma unroll
        for (int j = 0; j < T::kTn; j += 4) {
          const float4 q = parts[At(g, first + i, j)];
          const float next[4] = {q.w, q.x, q.y, q.z};
#pragma unroll
          for (int e = 0; e < 4; ++e) total[i][j + e] = block == 0 ? next[e] : __fadd_rn(total[i][j + e], next[e]);
        }
      }
    }
    if ((round + 1) * T::kGroups < blocks) return __syncthreads();
    const Place place = PlaceOf(args);
    const Thread<T> thread(ThreadAnew());
    Store<T, true>(args.out, args.rows, place.batch, static_cast<std::int64_t>(place.m) * T::kM + thread.m,
                   static_cast<std::int64_t>(place.n) * T::kN + thread.n, args.m, args.n, args.vector_out, total, first);
  }
};

template <class T, class LoadA, class LoadB, class Rows>
__global__ void __launch_bounds__(T::kThreads* T::kGroups, T::kMinBlocks)
    Multiply(const __grid_constant__ Args<typename LoadA::Params, typename LoadB::Params, Rows> args) {
  constexpr int kDepth = T::kDepth, kStages = T::kStages, kGroups = T::kGroups;
  constexpr int kSlabA = LoadA::kLd * kDepth, kSlab = kSlabA + LoadB::kLd * kDepth;
  static_assert(kBlock % kDepth == 0);
  extern __shared__ __align__(16) float all_shared[];
  const int group = kGroups == 1 ? 0 : static_cast<int>(threadIdx.y);
  float* const shared = all_shared + group * kStages * kSlab;

  const Place place = PlaceOf(args);
  const int all_blocks = static_cast<int>((args.k + kBlock - 1) / kBlock);
  const int first_block = place.slice == 0 ? 0 : args.first_blocks + (place.slice - 1) * args.slice_blocks;
  const int blocks = place.slice == 0 ? args.first_blocks : min(args.slice_blocks, all_blocks - first_block);
  const std::int64_t first_k = static_cast<std::int64_t>(first_block + group) * kBlock;
  const std::int64_t missing = max(static_cast<std::int64_t>(first_block + blocks) * kBlock - args.k, std::int64_t{0});
  // A group has every kGroups-th block, and the first group the most.
  const auto blocks_of = [&](int g) { return (blocks - g + kGroups - 1) / kGroups; };
  const auto depth_of = [&](int g) {
    return static_cast<std::int64_t>(blocks_of(g)) * kBlock - ((blocks - 1) % kGroups == g ? missing : std::int64_t{0});
  };
  const int slabs = static_cast<int>(depth_of(group) / kDepth), tail = static_cast<int>(depth_of(group) % kDepth);
  const int most_slabs = kGroups == 1 ? slabs : static_cast<int>(depth_of(0) / kDepth);

  LoadA load_a(args.a, static_cast<std::int64_t>(place.m) * T::kM, place.batch, first_k);
  LoadB load_b(args.b, static_cast<std::int64_t>(place.n) * T::kN, place.batch, first_k);
  load_a.to += static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  load_b.to += static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)) + kSlabA * 4;
  // Slab `slab` into the stage at `stage`.
  const auto fetch = [&](int slab, int stage) {
    if constexpr (kGroups > 1) {
      if (slab > 0 && slab % (kBlock / kDepth) == 0) {
        load_a.Skip(args.a, (kGroups - 1) * kBlock);
        load_b.Skip(args.b, (kGroups - 1) * kBlock);
      }
    }
    if (slab < slabs) {
      load_a.template Load<true>(args.a, static_cast<std::uint32_t>(stage) * 4, kDepth);
      load_b.template Load<true>(args.b, static_cast<std::uint32_t>(stage) * 4, kDepth);
    } else if (slab == slabs && tail > 0) {
      load_a.template Load<false>(args.a, static_cast<std::uint32_t>(stage) * 4, tail);
      load_b.template Load<false>(args.b, static_cast<std::uint32_t>(stage) * 4, tail);
    }
    CommitCopies();
  };
#pragma unroll 1
  for (int s = 0; s < kStages - 1; ++s) fetch(s, s * kSlab);

  const Thread<T> thread(static_cast<int>(threadIdx.x));
  int stage = 0;  // where the current slab begins, in floats
  const float* read_a = shared + thread.m;
  const float* read_b = shared + kSlabA + thread.n;
  float sum[T::kTm][T::kTn];
  Clear<T>(sum);
  float a[2][T::kTm], b[2][T::kTn];
  [[maybe_unused]] std::conditional_t<(kGroups > 1), Rounds<T>, int> rounds;

  WaitForCopies<kStages - 2>();
  __syncthreads();
  Read<T>(a[0], b[0], read_a, read_b);

  int slab = 0;
  // With groups, one block for each of them at a time.
#pragma unroll 1
  for (int block = 0; block * kGroups < blocks; ++block) {
    const int end = min((block + 1) * (kBlock / kDepth), most_slabs);
#pragma unroll 1
    for (; slab < end; ++slab) {
      if (kGroups > 1 && slab >= slabs) {
        __syncthreads();  // for the groups that have more
        continue;
      }
#pragma unroll
      for (int k = 0; k < kDepth; ++k) {
        if (k == kDepth - 1) {
          WaitForCopies<kStages - 2>();
          __syncthreads();
          const int to_next = stage == (kStages - 1) * kSlab ? -(kStages - 1) * kSlab : kSlab;
          stage += to_next;
          read_a += to_next;
          read_b += to_next;
        }
        const int next = (k + 1) % kDepth;
        Read<T>(a[(k + 1) % 2], b[(k + 1) % 2], read_a + next * LoadA::kLd, read_b + next * LoadB::kLd);
        if (k == 0) fetch(slab + kStages - 1, stage == 0 ? (kStages - 1) * kSlab : stage - kSlab);
        MultiplyAdd<T>(sum, a[k % 2], b[k % 2]);
      }
    }
    const bool last = block == blocks_of(group) - 1;
    if (last) {
      if constexpr (kGroups == 1) AllowNext();
#pragma unroll 1
      for (int k = 0; k < tail; ++k) {
        Read<T>(a[0], b[0], read_a + k * LoadA::kLd, read_b + k * LoadB::kLd);
        MultiplyAdd<T>(sum, a[0], b[0]);
      }
    }
    float4* const totals = reinterpret_cast<float4*>(all_shared + kGroups * kStages * kSlab);
    if constexpr (kGroups == 1) {
      Close<T>(args, totals, block, last, sum);
    } else {
      rounds.Close(args, totals, block, blocks, sum);
    }
    Clear<T>(sum);
  }
}

}  // namespace assay::cuda::gemm
