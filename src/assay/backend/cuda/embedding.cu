// Kernels of embedding, and of its gradient: a block takes 32 rows of the table, lists the positions that name one of them, in ascending order, and
// lets its warps add up one row and 128 columns at a time.
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/launch-inl.h"
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

constexpr int kTableRows = 32;  // of a block
constexpr int kSlice = 128;     // columns of a task
constexpr int kListed = 8192;   // positions looked at before their rows are added up
constexpr int kAhead = 8;       // gradients on their way while one is added

// Positions of one warp's share that name a row of the block, ascending.
struct Lists {
  std::int32_t position[kListed];
  std::int32_t row[kListed];  // counted from the block's first
  int count[32];
  std::int32_t found[32][32];  // of each warp
};

// Lists warp by warp: warp w has positions [w * share, (w + 1) * share) of the `listed` ones, and as much room.
__device__ __forceinline__ void ListPositions(const std::int32_t* ids, int listed, int share, std::int64_t first_row,
                                              Lists& lists) {
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int begin = warp * share;
  const int end = begin + share < listed ? begin + share : listed;
  int count = 0;
  for (int base = begin; base < end; base += 32) {
    const std::int64_t row = base + lane < end ? __ldg(ids + base + lane) - first_row : -1;
    const bool mine = row >= 0 && row < kTableRows;
    const unsigned found = __ballot_sync(0xffffffffu, mine);
    if (mine) {
      const int place = begin + count + __popc(found & ((1u << lane) - 1));
      lists.position[place] = base + lane;
      lists.row[place] = static_cast<std::int32_t>(row);
    }
    count += __popc(found);
  }
  if (lane == 0) lists.count[warp] = count;
}

// A lane has columns lane, lane + 32, ... of a slice.
struct Sums {
  float of[kSlice / 32];
};

// Adds the gradients at `count` positions, at most 32, to the sums.
__device__ __forceinline__ void AddRows(const float* gradient, std::int64_t width, std::int64_t column,
                                        const std::int32_t* positions, int count, Sums& sums) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int base = 0; base < count; base += kAhead) {
    float ahead[kAhead][kSlice / 32];
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const std::int64_t position = base + a < count ? positions[base + a] : 0;
#pragma unroll
      for (int k = 0; k < kSlice / 32; ++k) {
        const std::int64_t c = column + lane + 32 * k;
        ahead[a][k] = base + a < count && c < width ? __ldg(gradient + position * width + c) : 0.0f;
      }
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

// All listed positions of one row, 32 of the list at a time.
__device__ __forceinline__ void AddListed(Lists& lists, int warps, int share, int row, const float* gradient,
                                          std::int64_t width, std::int64_t column, Sums& sums) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int w = 0; w < warps; ++w) {
    const int count = lists.count[w];
    for (int base = 0; base < count; base += 32) {
      const int at = w * share + base + lane;
      const bool mine = base + lane < count && lists.row[at] == row;
      const unsigned found = __ballot_sync(0xffffffffu, mine);
      if (found == 0) continue;
      std::int32_t* positions = lists.found[threadIdx.x / 32];
      __syncwarp();
      if (mine) positions[__popc(found & ((1u << lane) - 1))] = lists.position[at];
      __syncwarp();
      AddRows(gradient, width, column, positions, __popc(found), sums);
    }
  }
}

// Sums live in the output between one list of positions and the next.
__global__ void __launch_bounds__(256, 2) EmbeddingGrad(const std::int32_t* ids, const float* gradient, float* out,
                                                        std::int64_t rows, std::int64_t width, std::int64_t positions) {
  extern __shared__ char memory[];
  Lists& lists = *reinterpret_cast<Lists*>(memory);
  const int warp = static_cast<int>(threadIdx.x / 32), lane = static_cast<int>(threadIdx.x % 32);
  const int warps = static_cast<int>(blockDim.x / 32);
  const std::int64_t first_row = static_cast<std::int64_t>(blockIdx.x) * kTableRows;
  const int rows_here = static_cast<int>(rows - first_row < kTableRows ? rows - first_row : kTableRows);
  const std::int64_t slices = CeilDiv(width, kSlice);
  for (std::int64_t begin = 0; begin == 0 || begin < positions; begin += kListed) {
    const int listed = static_cast<int>(positions - begin < kListed ? positions - begin : kListed);
    const int share = static_cast<int>(CeilDiv(CeilDiv(listed, 32), warps)) * 32;
    __syncthreads();
    ListPositions(ids + begin, listed, share, first_row, lists);
    __syncthreads();
    for (std::int64_t task = warp; task < rows_here * slices; task += warps) {
      const int row = static_cast<int>(task / slices);
      const std::int64_t column = task % slices * kSlice;
      float* to = out + (first_row + row) * width;
      Sums sums;
#pragma unroll
      for (int k = 0; k < kSlice / 32; ++k) {
        const std::int64_t c = column + lane + 32 * k;
        sums.of[k] = begin > 0 && c < width ? to[c] : 0.0f;
      }
      AddListed(lists, warps, share, row, gradient + begin * width, width, column, sums);
#pragma unroll
      for (int k = 0; k < kSlice / 32; ++k) {
        const std::int64_t c = column + lane + 32 * k;
        if (c < width) to[c] = Device::Canonical(sums.of[k]);
      }
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
  const Shape& table = args.out_type(0).shape;
  const std::int64_t positions = args.in_type(0).elements();
  const int threads = ThreadsOr(context, 256, 256);
  Check(cudaFuncSetAttribute(EmbeddingGrad, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(sizeof(Lists))),
        "shared memory of embedding_grad");
  EmbeddingGrad<<<static_cast<unsigned>(CeilDiv(table[0], kTableRows)), threads, sizeof(Lists), context.stream()>>>(
      args.In<std::int32_t>(0), args.In<float>(1), args.Out<float>(0), table[0], table[1], positions);
  CheckLaunch("embedding_grad");
}

}  // namespace assay::cuda
