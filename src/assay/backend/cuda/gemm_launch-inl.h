// How a problem is launched on the tiled matmul core (gemm-inl.h): the kinds of operands, the tiles, the sum of the slices.
//
// For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "assay/backend/cuda/gemm-inl.h"
#include "assay/backend/cuda/gemm.h"

namespace assay::cuda::gemm {

// The sums of the slots in ascending order. `plain`: the output lies as the slots do; it may be the first of them. Small blocks: an output that is worth
// slicing is small, and each thread reads a long row of slots.
inline constexpr int kSumThreads = 64;
template <int kVector, class Rows>
__global__ void __launch_bounds__(kSumThreads)
    SumSlots(const float* slots, int count, std::int64_t stride, std::int64_t m, std::int64_t n, float* out,
             const __grid_constant__ Rows rows, bool plain) {
  const std::int64_t i = (static_cast<std::int64_t>(blockIdx.x) * kSumThreads + threadIdx.x) * kVector;
  AwaitPrevious();
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

// The kinds of operands, and the tiles that have kernels for them as A and as B (bit i: tile i): the rare ones, a large and a
// small one. kSingly is for Extents.
struct AlongK {
  using Params = Matrix;
  static constexpr unsigned kTilesA = kAllTiles, kTilesB = kAllTiles;
  static constexpr bool kSingly = true;
  template <int rows, class T>
  using Load = LoadAlongK<rows, T::kDepth, T::kThreads>;
};
template <int vector>
struct AlongRows {
  using Params = Matrix;
  static constexpr unsigned kTilesA = vector == 4 ? kUngroupedTiles : kRareTiles;
  static constexpr unsigned kTilesB = vector == 4 ? kAllTiles : kRareTiles;
  static constexpr bool kSingly = vector == 1;
  template <int rows, class T>
  using Load = LoadAlongRows<rows, T::kDepth, T::kThreads, vector>;
};

// One pass: the slices from `first_slice` to before `end_slice`.
template <class T, class A, class B, class Rows>
void LaunchTile(const Operands<typename A::Params, typename B::Params, Rows>& operands, const Extents& e, const Choice& choice,
                int first_slice, int end_slice, float* slots, cudaStream_t stream) {
  using LoadA = typename A::template Load<T::kM, T>;
  using LoadB = typename B::template Load<T::kN, T>;
  Args<typename A::Params, typename B::Params, Rows> args{operands};
  args.m = e.m, args.n = e.n, args.k = e.k;
  args.slots = slots;
  args.slot_stride = e.batch * e.m * e.n;
  args.tiles_m = static_cast<int>(CeilDiv(e.m, T::kM)), args.tiles_n = static_cast<int>(CeilDiv(e.n, T::kN));
  args.first_slice = first_slice, args.slices = end_slice - first_slice, args.sliced = choice.slices > 1;
  args.first_blocks = choice.first_blocks, args.slice_blocks = choice.slice_blocks;
  const auto kernel = Multiply<T, LoadA, LoadB, Rows>;
  constexpr int kSlabs = T::kGroups * T::kStages * (LoadA::kLd + LoadB::kLd) * T::kDepth * 4;
  constexpr int kTotals = T::kGroups * T::kTotalsBytes;
  const int bytes = kSlabs + (choice.first_blocks > 1 || T::kGroups > 1 ? kTotals : 0);
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kSlabs + kTotals),
        "shared memory of a matmul");
  const std::int64_t thread_blocks = static_cast<std::int64_t>(args.tiles_m) * args.tiles_n * args.slices * e.batch;
  kernel<<<static_cast<unsigned>(thread_blocks), dim3(T::kThreads, T::kGroups), bytes, stream>>>(args);
  CheckLaunch("matmul");
}

// kTiles, in their order.
using Tile0 = Tile<4, 2, 8, 8, 2>;
using Tile1 = Tile<4, 1, 8, 8, 3>;
using Tile2 = Tile<2, 2, 8, 8, 3>;
using Tile3 = Tile<2, 1, 8, 8, 4>;
using Tile4 = Tile<2, 2, 8, 4, 5>;
using Tile5 = Tile<2, 2, 6, 4, 1, 3, 32>;

// Whether a kernel's thread blocks can be started before the kernel before it has ended.
inline bool HasEarlyLaunch() {
  int device = 0, major = 0;
  Check(cudaGetDevice(&device), "current device");
  Check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "compute capability");
  return major >= 9;
}

inline std::size_t ScratchBytes(const Extents& e, const Choice& choice) {
  return static_cast<std::size_t>(Slots(e, choice) * e.batch * e.m * e.n) * 4;
}

// Enqueues the sum of the slots, of which the first is the total so far. The result goes there too, unless it is the last.
template <class Rows>
void LaunchSum(const Extents& e, std::int64_t slots, float* scratch, bool last, float* out, const Rows& rows, bool vector_out,
               cudaStream_t stream) {
  const std::int64_t elements = e.batch * e.m * e.n;
  const bool plain = !last || rows.Plain(e.m, e.n);
  const int vector = elements % 4 == 0 && elements >= (1 << 19) && (plain || vector_out) ? 4 : 1;
  cudaLaunchAttribute early;
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(CeilDiv(elements, kSumThreads * vector)));
  config.blockDim = dim3(kSumThreads);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = HasEarlyLaunch() ? 1 : 0;
  Check(cudaLaunchKernelEx(&config, vector == 4 ? SumSlots<4, Rows> : SumSlots<1, Rows>, static_cast<const float*>(scratch),
                           static_cast<int>(slots), elements, e.m, e.n, last ? out : scratch, rows, plain),
        "sum of a matmul's slices");
}

// Enqueues out = contract(K) of operands of the kinds A and B; `scratch` has ScratchBytes. The tile is one of both kinds'.
template <class A, class B, class Rows>
void Launch(const Operands<typename A::Params, typename B::Params, Rows>& operands, const Extents& e, const Choice& choice,
            float* scratch, cudaStream_t stream) {
  for (int first = 0; first < choice.slices; first += choice.pass_slices) {
    const int end = std::min(first + choice.pass_slices, choice.slices);
    const auto launch = [&]<int index, class T>() {
      if constexpr (((A::kTilesA & B::kTilesB) >> index & 1) != 0) {
        if (choice.tile == index) LaunchTile<T, A, B>(operands, e, choice, first, end, scratch, stream);
      }
    };
    launch.template operator()<0, Tile0>();
    launch.template operator()<1, Tile1>();
    launch.template operator()<2, Tile2>();
    launch.template operator()<3, Tile3>();
    launch.template operator()<4, Tile4>();
    launch.template operator()<5, Tile5>();
    if (choice.slices == 1) return;
    const std::int64_t before = first == 0 ? choice.first_blocks : BlocksBefore(e, choice, first);
    LaunchSum(e, 1 + BlocksBefore(e, choice, end) - before, scratch, end == choice.slices, operands.out, operands.rows,
              operands.vector_out, stream);
  }
}

// For operands of the kinds A and B, among `tiles`.
template <class A, class B>
Choice ChooseFor(Extents e, unsigned tiles, const Context& context) {
  e.a_singly = A::kSingly, e.b_singly = B::kSingly;
  return Choose(e, A::kTilesA & B::kTilesB & tiles, context);
}

// The same, with a choice of its own among `tiles`.
template <class A, class B, class Rows>
void Launch(const Operands<typename A::Params, typename B::Params, Rows>& operands, const Extents& e, Context& context,
            unsigned tiles = kAllTiles) {
  const Choice choice = ChooseFor<A, B>(e, tiles, context);
  float* const scratch = choice.slices > 1 ? static_cast<float*>(context.Scratch(ScratchBytes(e, choice))) : nullptr;
  Launch<A, B>(operands, e, choice, scratch, context.stream());
}

}  // namespace assay::cuda::gemm
