// Kernels of embedding, and of its gradient: the positions are sorted by id, then each id that occurs adds up its own, ascending.
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/backend/cuda/sort_positions-inl.h"
#include "assay/ops/rules.h"

namespace assay::cuda {
namespace {

using numerics::device::Device;

constexpr int kMaxEmbeddingThreads = 1024;

__device__ __forceinline__ float4 CanonicalOf(float4 v) {
  return {Device::Canonical(v.x), Device::Canonical(v.y), Device::Canonical(v.z), Device::Canonical(v.w)};
}
__device__ __forceinline__ float CanonicalOf(float v) { return Device::Canonical(v); }
__device__ __forceinline__ void Fill(float4& v, float x) { v = {x, x, x, x}; }
__device__ __forceinline__ void Fill(float& v, float x) { v = x; }

// T is float, or float4 when the width allows it; width and total count in T.
template <class T, class Index>
__global__ void __launch_bounds__(kMaxEmbeddingThreads, 1)
    Embedding(const T* table, const std::int32_t* ids, T* out, std::int64_t rows, std::int64_t width, Divisor<Index> by_width,
              Index total) {
  for (Index i = GlobalThread<Index>(); i < total; i += GlobalThreads<Index>()) {
    Index column;
    const std::int32_t id = __ldg(ids + by_width.Divide(i, column));
    T value;
    if (id < 0 || id >= rows) {
      Fill(value, __int_as_float(static_cast<int>(numerics::kCanonicalNan)));
    } else {
      value = CanonicalOf(__ldg(table + id * width + static_cast<std::int64_t>(column)));
    }
    out[i] = value;
  }
}

template <class T>
void LaunchEmbedding(const KernelArgs& args, const ops::MatrixView& table, Context& context) {
  constexpr std::int64_t kUnit = sizeof(T) / sizeof(float);
  const std::int64_t total = args.out_type(0).elements() / kUnit;
  const int threads = ThreadsOr(context, 256, kMaxEmbeddingThreads);
  const auto launch = [&](auto index) {
    using Index = decltype(index);
    Embedding<T, Index><<<GridFor(total, threads), threads, 0, context.stream()>>>(
        args.In<T>(0), args.In<std::int32_t>(1), args.Out<T>(0), table.rows, table.cols / kUnit,
        Divisor<Index>(table.cols / kUnit), static_cast<Index>(total));
  };
  if (FitsIndex32(total)) {
    launch(std::uint32_t{});
  } else {
    launch(std::uint64_t{});
  }
  CheckLaunch("embedding");
}

constexpr int kMaxGradThreads = kMaxSortThreads;
constexpr int kSlice = 128;  // columns that a warp adds up at once
constexpr int kAhead = 8;    // gradients on their way while others are added

// A lane has columns lane, lane + 32, ... of a slice.
struct Sums {
  float of[kSlice / 32];
};

// Adds the gradients of `count` positions, at most 32, that the lanes hold. `columns` are left of the slice.
__device__ __forceinline__ void AddRows(const float* gradient, std::int64_t width, std::int64_t columns, std::int32_t position,
                                        int count, Sums& sums) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int base = 0; base < count; base += kAhead) {
    float ahead[kAhead][kSlice / 32];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const float* from = gradient + __shfl_sync(0xffffffffu, position, base + a) * width + lane;
#pragma unroll
      for (int k = 0; k < kSlice / 32; ++k)
        ahead[a][k] = base + a < count && lane + 32 * k < columns ? __ldg(from + 32 * k) : 0.0f;
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
#pragma unroll
      for (int k = 0; k < kSlice / 32; ++k) {
        if (base + a < count) sums.of[k] = __fadd_rn(sums.of[k], ahead[a][k]);
      }
    }
  }
}

// A warp for each place in the order and slice of columns; the first place of an id adds up all of them. Rows that no position
// names are zero already.
__global__ void __launch_bounds__(kMaxGradThreads, 3)
    EmbeddingGrad(Sorted sorted, const float* gradient, float* out, std::int64_t rows, std::int64_t width,
                  std::int64_t positions) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t start = GlobalThread<std::int64_t>() / 32;
  if (start >= positions) return;
  const std::int32_t row = __ldg(sorted.id + start);
  if (row < 0 || row >= rows || (start > 0 && __ldg(sorted.id + start - 1) == row)) return;
  for (std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kSlice; column < width; column += gridDim.y * kSlice) {
    Sums sums{};
    for (std::int64_t base = start; base < positions; base += 32) {
      const bool mine = base + lane < positions && __ldg(sorted.id + base + lane) == row;
      const int count = __popc(__ballot_sync(0xffffffffu, mine));
      AddRows(gradient + column, width, width - column, mine ? __ldg(sorted.position + base + lane) : 0, count, sums);
      if (count < 32) break;
    }
#pragma unroll
    for (int k = 0; k < kSlice / 32; ++k) {
      const std::int64_t c = column + lane + 32 * k;
      if (c < width) out[row * width + c] = Device::Canonical(sums.of[k]);
    }
  }
}

}  // namespace

void Run_embedding(const KernelArgs& args, Context& context) {
  if (args.out_type(0).elements() == 0) return;
  const ops::MatrixView table = ops::LastAxisView(args.in_type(0));
  if (table.cols % 4 == 0) {
    LaunchEmbedding<float4>(args, table, context);
  } else {
    LaunchEmbedding<float>(args, table, context);
  }
}

void Run_embedding_grad(const KernelArgs& args, Context& context) {
  const std::int64_t rows = args.out_type(0).shape[0], width = args.out_type(0).shape[1];
  const std::int64_t positions = args.in_type(0).elements();
  Check(cudaMemsetAsync(args.out[0], 0, args.out_type(0).bytes(), context.stream()), "embedding_grad");
  if (positions == 0) return;
  const int threads = ThreadsOr(context, 256, kMaxGradThreads);
  auto* scratch = static_cast<std::int32_t*>(context.Scratch(2 * sizeof(std::int32_t) * static_cast<std::size_t>(positions)));
  const Sorted sorted{.position = scratch, .id = scratch + positions};
  SortPositionsOf(args.In<std::int32_t>(0), positions, sorted, threads, context.stream());
  const dim3 grid(static_cast<unsigned>(CeilDiv(positions, threads / 32)),
                  static_cast<unsigned>(std::min<std::int64_t>(CeilDiv(width, kSlice), 65535)));
  EmbeddingGrad<<<grid, threads, 0, context.stream()>>>(sorted, args.In<float>(1), args.Out<float>(0), rows, width, positions);
  CheckLaunch("embedding_grad");
}

}  // namespace assay::cuda
