// The tiled matmul core of matmul.cu and conv2d.cu: out[m, n] = contract(K) of a(m, k) · b(n, k), whatever the operands are (gemm_load-inl.h).
//
// Order: a thread block computes a tile of the output. Each element belongs to one thread, which runs the chain of a block of 256 k in one
// register, ascending, from +0, and at the end of the block adds it to the element's total. Totals rest in shared memory meanwhile, so that registers are
// left for the chain. With K cut into slices, slice 0 gives the total of its blocks and every other slice the sums of its blocks one by one;
// SumSlots adds them in ascending order, so that the tile and the number of slices change no bit.
//
// For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "assay/backend/cuda/gemm.h"
#include "assay/backend/cuda/gemm_load-inl.h"

namespace assay::cuda::gemm {

// A thread computes kTm x kTn outputs, a warp of 4 x 8 threads 4·kTm x 8·kTn.
template <int kWarpsM, int kWarpsN, int kTm_, int kTn_, int kDepth_, int kStages_, int kMinBlocks_, int kLanes_ = 0, int kOrder_ = 0, int kTotalsMode_ = 0>
struct Tile {
  static constexpr int kTm = kTm_, kTn = kTn_, kDepth = kDepth_, kStages = kStages_, kMinBlocks = kMinBlocks_, kLanes = kLanes_;
  static constexpr int kOrder = kOrder_, kTotalsMode = kTotalsMode_;
  static constexpr int kWarpM = 4 * kTm, kWarpN = 8 * kTn;
  static constexpr int kM = kWarpsM * kWarpM, kN = kWarpsN * kWarpN;
  static constexpr int kWarpsAcross = kWarpsN;
  static constexpr int kThreads = kWarpsM * kWarpsN * 32;
  static constexpr int kTotalsBytes = kM * kN * 4;
};

// Where the rows of the output lie.
struct PlainRows {
  std::int64_t ld, batch_stride;
  __device__ __forceinline__ std::int64_t Offset(std::int64_t batch, std::int64_t row) const { return batch * batch_stride + row * ld; }
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
  std::int64_t m, n, k;
  float* slots;  // [slot][batch][m][n], when K is cut into slices
  std::int64_t slot_stride;
  int tiles_m, tiles_n, slices;
  int slice_blocks;  // of each slice but the last
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
  place.slice = static_cast<int>(rest % static_cast<unsigned>(args.slices));
  place.batch = rest / static_cast<unsigned>(args.slices);
  return place;
}

// The part of a tile that one thread computes: quads of rows and columns, spread over its warp's part so that the warp reads shared memory
// without conflicts.
template <class T>
struct Thread {
  int m, n;  // of the first quads in the tile

  __device__ __forceinline__ explicit Thread(int thread) {
    const int lane = thread % 32, warp = thread / 32;
    const int lane_m = T::kLanes ? lane / 16 * 2 + lane % 2 : lane / 8;
    const int lane_n = T::kLanes ? lane / 2 % 8 : lane % 8;
    m = warp / T::kWarpsAcross * T::kWarpM + lane_m * 4;
    n = warp % T::kWarpsAcross * T::kWarpN + lane_n * 4;
  }
  static __device__ __forceinline__ constexpr int Row(int i) { return i / 4 * 16 + i % 4; }
  static __device__ __forceinline__ constexpr int Column(int j) { return j / 4 * 32 + j % 4; }
};

template <int count, int spread>
__device__ __forceinline__ void ReadQuads(float (&to)[count], const float* from) {
#pragma unroll
  for (int i = 0; i < count; i += 4) {
    const float4 q = *reinterpret_cast<const float4*>(from + i / 4 * spread);
    to[i] = q.x, to[i + 1] = q.y, to[i + 2] = q.z, to[i + 3] = q.w;
  }
}

template <class T>
__device__ __forceinline__ void MultiplyAdd(float (&sum)[T::kTm][T::kTn], const float (&a)[T::kTm], const float (&b)[T::kTn]) {
if constexpr (T::kOrder == 0 || T::kOrder == 2) {
#pragma unroll
    for (int i = 0; i < T::kTm; ++i) {
#pragma unroll
      for (int j = 0; j < T::kTn; ++j) {
        const int jj = i % 2 == 0 || T::kOrder == 2 ? j : T::kTn - 1 - j;
        sum[i][jj] = __fmaf_rn(a[i], b[jj], sum[i][jj]);
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < T::kTn; ++j) {
#pragma unroll
      for (int i = 0; i < T::kTm; ++i) {
        const int ii = j % 2 == 0 || T::kOrder == 3 ? i : T::kTm - 1 - i;
        sum[ii][j] = __fmaf_rn(a[ii], b[j], sum[ii][j]);
      }
    }
  }
}

template <class T, bool canonical, class Rows>
__device__ __forceinline__ void Store(float* to, const Rows& rows, std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t m_end,
                                      std::int64_t n_end, bool vector, float (&sum)[T::kTm][T::kTn]) {
#pragma unroll
  for (int i = 0; i < T::kTm; ++i) {
    const std::int64_t row = m + Thread<T>::Row(i);
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

// Ends a block of k: the sum joins the total, or goes out.
template <class T, class A>
__device__ __forceinline__ void Close(const A& args, float4* all_totals, int block, bool last, float (&sum)[T::kTm][T::kTn]) {
  const Place place = PlaceOf(args);
  const Thread<T> thread(ThreadAnew());
  const std::int64_t m = static_cast<std::int64_t>(place.m) * T::kM + thread.m, n = static_cast<std::int64_t>(place.n) * T::kN + thread.n;
  if (place.slice == 0) {
    float4* const totals = all_totals + ThreadAnew();
    constexpr int kTurn = T::kTotalsMode;
    if (block > 0) {
#pragma unroll
      for (int i = 0; i < T::kTm; ++i) {
#pragma unroll
        for (int j = 0; j < T::kTn; j += 4) {
          const float4 q = totals[(i * T::kTn + j) / 4 * T::kThreads];
          sum[i][j + kTurn % 4] = __fadd_rn(q.x, sum[i][j + kTurn % 4]);
          sum[i][j + (1 + kTurn) % 4] = __fadd_rn(q.y, sum[i][j + (1 + kTurn) % 4]);
          sum[i][j + (2 + kTurn) % 4] = __fadd_rn(q.z, sum[i][j + (2 + kTurn) % 4]);
          sum[i][j + (3 + kTurn) % 4] = __fadd_rn(q.w, sum[i][j + (3 + kTurn) % 4]);
        }
      }
    }
    if (!last) {
#pragma unroll
      for (int i = 0; i < T::kTm; ++i) {
#pragma unroll
        for (int j = 0; j < T::kTn; j += 4) {
          totals[(i * T::kTn + j) / 4 * T::kThreads] =
              make_float4(sum[i][j + kTurn % 4], sum[i][j + (1 + kTurn) % 4], sum[i][j + (2 + kTurn) % 4], sum[i][j + (3 + kTurn) % 4]);
        }
      }
    }
    if (!last) return;
    if (args.slices == 1) {
      Store<T, true>(args.out, args.rows, place.batch, m, n, args.m, args.n, args.vector_out, sum);
      return;
    }
  }
  const int slot = place.slice == 0 ? 0 : (place.slice - 1) * args.slice_blocks + block + 1;
  Store<T, false>(args.slots + slot * args.slot_stride, PlainRows{args.n, args.m * args.n}, place.batch, m, n, args.m, args.n, args.n % 4 == 0, sum);
}

template <class T, class LoadA, class LoadB, class Rows>
__global__ void __launch_bounds__(T::kThreads, T::kMinBlocks) Multiply(const __grid_constant__ Args<typename LoadA::Params, typename LoadB::Params, Rows> args) {
  constexpr int kDepth = T::kDepth, kStages = T::kStages;
  constexpr int kSlabA = LoadA::kLd * kDepth, kSlab = kSlabA + LoadB::kLd * kDepth;
  static_assert(kBlock % kDepth == 0);
  extern __shared__ __align__(16) float shared[];

  const Place place = PlaceOf(args);
  const int all_blocks = static_cast<int>((args.k + kBlock - 1) / kBlock);
  const int first_block = place.slice * args.slice_blocks;
  const int blocks = max(1, min(args.slice_blocks, all_blocks - first_block));
  const std::int64_t first_k = static_cast<std::int64_t>(first_block) * kBlock;
  const std::int64_t depth = min(static_cast<std::int64_t>(blocks) * kBlock, args.k - first_k);
  const int slabs = static_cast<int>(depth / kDepth), tail = static_cast<int>(depth % kDepth);

  LoadA load_a(args.a, static_cast<std::int64_t>(place.m) * T::kM, place.batch, first_k);
  LoadB load_b(args.b, static_cast<std::int64_t>(place.n) * T::kN, place.batch, first_k);
  load_a.to += static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  load_b.to += static_cast<std::uint32_t>(__cvta_generic_to_shared(shared)) + kSlabA * 4;
  // Slab `slab` into the stage at `stage`.
  const auto fetch = [&](int slab, int stage) {
    if (slab < slabs) {
      load_a.template Load<true>(args.a, static_cast<std::uint32_t>(stage) * 4, kDepth);
      load_b.template Load<true>(args.b, static_cast<std::uint32_t>(stage) * 4, kDepth);
    } else if (slab == slabs && tail > 0) {
      load_a.template Load<false>(args.a, static_cast<std::uint32_t>(stage) * 4, tail);
      load_b.template Load<false>(args.b, static_cast<std::uint32_t>(stage) * 4, tail);
    } else {
      if constexpr (requires { load_a.Flush(); }) load_a.Flush();
      if constexpr (requires { load_b.Flush(); }) load_b.Flush();
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

  WaitForCopies<kStages - 2>();
  __syncthreads();
  ReadQuads<T::kTm, 16>(a[0], read_a);
  ReadQuads<T::kTn, 32>(b[0], read_b);

  int slab = 0;
#pragma unroll 1
  for (int block = 0; block < blocks; ++block) {
    const int end = min((block + 1) * (kBlock / kDepth), slabs);
#pragma unroll 1
    for (; slab < end; ++slab) {
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
        ReadQuads<T::kTm, 16>(a[(k + 1) % 2], read_a + next * LoadA::kLd);
        ReadQuads<T::kTn, 32>(b[(k + 1) % 2], read_b + next * LoadB::kLd);
        if (k == 0) fetch(slab + kStages - 1, stage == 0 ? (kStages - 1) * kSlab : stage - kSlab);
        MultiplyAdd<T>(sum, a[k % 2], b[k % 2]);
      }
    }
    const bool last = block == blocks - 1;
    if (last) {
#pragma unroll 1
      for (int k = 0; k < tail; ++k) {
        ReadQuads<T::kTm, 16>(a[0], read_a + k * LoadA::kLd);
        ReadQuads<T::kTn, 32>(b[0], read_b + k * LoadB::kLd);
        MultiplyAdd<T>(sum, a[0], b[0]);
      }
    }
    Close<T>(args, reinterpret_cast<float4*>(shared + kStages * kSlab), block, last, sum);
    Clear<T>(sum);
  }
}

// The sums of the slots in ascending order. `plain`: the output lies as the slots do. Small blocks: an output that is worth slicing is small, and each thread
// reads a long row of slots.
inline constexpr int kSumThreads = 64;
template <int kVector, class Rows>
__global__ void __launch_bounds__(kSumThreads) SumSlots(const float* slots, int count, std::int64_t stride, std::int64_t m, std::int64_t n, float* out,
                                                        const __grid_constant__ Rows rows, bool plain) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kSumThreads + threadIdx.x) * kVector;
  if (i >= stride) return;
  constexpr int kAhead = kVector == 4 ? 8 : 32;
  using Vector = std::conditional_t<kVector == 4, float4, float>;
  union Values {
    Vector v;
    float f[kVector];
  };
  Values total, next[kAhead];
  total.v = *reinterpret_cast<const Vector*>(slots + i);
  int slot = 1;
  for (; slot + kAhead <= count; slot += kAhead) {
#pragma unroll
    for (int s = 0; s < kAhead; ++s) next[s].v = __ldcs(reinterpret_cast<const Vector*>(slots + (slot + s) * stride + i));
#pragma unroll
    for (int s = 0; s < kAhead; ++s) {
#pragma unroll
      for (int e = 0; e < kVector; ++e) total.f[e] = __fadd_rn(total.f[e], next[s].f[e]);
    }
  }
#pragma unroll 8
  for (; slot < count; ++slot) {
    next[0].v = __ldcs(reinterpret_cast<const Vector*>(slots + slot * stride + i));
#pragma unroll
    for (int e = 0; e < kVector; ++e) total.f[e] = __fadd_rn(total.f[e], next[0].f[e]);
  }
#pragma unroll
  for (int e = 0; e < kVector; ++e) total.f[e] = CanonicalNan(total.f[e]);
  const std::int64_t to = plain ? i : rows.Offset(i / (m * n), i / n % m) + i % n;
  *reinterpret_cast<Vector*>(out + to) = total.v;
}

// The kinds of operands, for each of which a tile has its loader.
struct AlongK {
  using Params = Matrix;
  template <int rows, class T>
  using Load = LoadAlongK<rows, T::kDepth, T::kThreads>;
};
template <int vector>
struct AlongRows {
  using Params = Matrix;
  template <int rows, class T>
  using Load = LoadAlongRows<rows, T::kDepth, T::kThreads, vector>;
};

template <class T, class A, class B, class Rows>
void LaunchTile(const Operands<typename A::Params, typename B::Params, Rows>& operands, const Extents& e, const Choice& choice, float* slots,
                cudaStream_t stream) {
  using LoadA = typename A::template Load<T::kM, T>;
  using LoadB = typename B::template Load<T::kN, T>;
  Args<typename A::Params, typename B::Params, Rows> args{operands};
  args.m = e.m, args.n = e.n, args.k = e.k;
  args.slots = slots;
  args.slot_stride = e.batch * e.m * e.n;
  args.tiles_m = static_cast<int>(CeilDiv(e.m, T::kM)), args.tiles_n = static_cast<int>(CeilDiv(e.n, T::kN));
  args.slices = choice.slices, args.slice_blocks = choice.slice_blocks;
  const auto kernel = Multiply<T, LoadA, LoadB, Rows>;
  constexpr int kSlabs = T::kStages * (LoadA::kLd + LoadB::kLd) * T::kDepth * 4;
  const int bytes = kSlabs + (choice.slice_blocks > 1 ? T::kTotalsBytes : 0);
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSlabs + T::kTotalsBytes), "shared memory of a matmul");
  const std::int64_t thread_blocks = static_cast<std::int64_t>(args.tiles_m) * args.tiles_n * args.slices * e.batch;
  kernel<<<static_cast<unsigned>(thread_blocks), T::kThreads, bytes, stream>>>(args);
  CheckLaunch("matmul");
}

using Tile128x128 = Tile<4, 1, 8, 16, 8, 3, 2, 1>;
using Tile64x128 = Tile<2, 1, 8, 16, 8, 3, 4, 1>;
using Tile128x64 = Tile<2, 1, 16, 8, 8, 3, 4, 1>;
using Tile64x64 = Tile<1, 1, 16, 8, 8, 3, 8, 1>;

inline std::size_t ScratchBytes(const Extents& e, const Choice& choice) { return static_cast<std::size_t>(Slots(e, choice) * e.batch * e.m * e.n) * 4; }

// Enqueues out = contract(K) of operands of the kinds A and B; `scratch` has ScratchBytes.
template <class A, class B, class Rows>
void Launch(const Operands<typename A::Params, typename B::Params, Rows>& operands, const Extents& e, const Choice& choice, float* scratch,
            cudaStream_t stream) {
  switch (choice.tile) {
    case 0: LaunchTile<Tile128x128, A, B>(operands, e, choice, scratch, stream); break;
    case 1: LaunchTile<Tile64x128, A, B>(operands, e, choice, scratch, stream); break;
    case 2: LaunchTile<Tile128x64, A, B>(operands, e, choice, scratch, stream); break;
    default: LaunchTile<Tile64x64, A, B>(operands, e, choice, scratch, stream); break;
  }
  if (choice.slices == 1) return;
  const std::int64_t elements = e.batch * e.m * e.n;
  const bool plain = operands.rows.Plain(e.m, e.n);
  const int vector = elements % 4 == 0 && elements >= (1 << 19) && (plain || operands.vector_out) ? 4 : 1;
  const auto sum = vector == 4 ? SumSlots<4, Rows> : SumSlots<1, Rows>;
  sum<<<static_cast<unsigned>(CeilDiv(elements, kSumThreads * vector)), kSumThreads, 0, stream>>>(scratch, static_cast<int>(Slots(e, choice)), elements,
                                                                                                  e.m, e.n, operands.out, operands.rows, plain);
  CheckLaunch("sum of a matmul's slices");
}

// The same, with a choice of its own.
template <class A, class B, class Rows>
void Launch(const Operands<typename A::Params, typename B::Params, Rows>& operands, const Extents& e, Context& context) {
  const Choice choice = Choose(e, context);
  float* const scratch = choice.slices > 1 ? static_cast<float*>(context.Scratch(ScratchBytes(e, choice))) : nullptr;
  Launch<A, B>(operands, e, choice, scratch, context.stream());
}

}  // namespace assay::cuda::gemm
