// sum_squares and clip_scale.
#include "assay/backend/cublas/kernels.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/numerics/sums.h"
#include "assay/semantics/rounded/clip_scale.h"

namespace assay::cublas {
namespace {

constexpr int kPieceThreads = 128;
constexpr std::int64_t kPiece = 128 * 128;
constexpr int kTopThreads = 1024;

// The sum of what the threads of a block hold, for thread 0; as many additions as halvings.
template <int kThreads>
__device__ double BlockSum(double x) {
  __shared__ double sums[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  x = threadIdx.x < kThreads / 32 ? sums[threadIdx.x] : 0.0;
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// Squares of binary32 values are exact and none is negative.
__device__ void PutSum(const Sink& sink, double y, std::int64_t n) {
  sink.Put(0, y, numerics::SumDepth(n) * numerics::kUnit * y);
}

// A block adds up a piece: 32 additions of each of a thread's four lanes, two of the lanes, seven of the threads, where the rule leaves 256 to a piece, and as many as there are terms to
// a shorter one.
__global__ void __launch_bounds__(kPieceThreads)
    SumPieces(const float* x, std::int64_t n, double* sums, const __grid_constant__ Sink sink) {
  const std::int64_t begin = blockIdx.x * kPiece, size = n - begin < kPiece ? n - begin : kPiece;
  const auto* vectors = reinterpret_cast<const float4*>(x + begin);
  double lanes[4] = {};
#pragma unroll 8
  for (std::int64_t i = threadIdx.x; i < size / 4; i += kPieceThreads) {
    const float4 v = __ldg(vectors + i);
    lanes[0] += double{v.x} * double{v.x};
    lanes[1] += double{v.y} * double{v.y};
    lanes[2] += double{v.z} * double{v.z};
    lanes[3] += double{v.w} * double{v.w};
  }
  if (threadIdx.x < size % 4) {
    const double last = __ldg(x + begin + size / 4 * 4 + threadIdx.x);
    lanes[0] += last * last;
  }
  const double sum = BlockSum<kPieceThreads>((lanes[0] + lanes[1]) + (lanes[2] + lanes[3]));
  if (threadIdx.x != 0) return;
  if (gridDim.x == 1) {
    PutSum(sink, sum, n);
  } else {
    sums[blockIdx.x] = sum;
  }
}

// The pieces' sums, a share for each thread, by the same rule.
__global__ void __launch_bounds__(kTopThreads)
    SumOfPieces(const double* sums, std::int64_t pieces, std::int64_t n, const __grid_constant__ Sink sink) {
  const std::int64_t mine = pieces > threadIdx.x ? (pieces - threadIdx.x + kTopThreads - 1) / kTopThreads : 0;
  double share = 0;
  if (mine <= 128) {
#pragma unroll 4
    for (std::int64_t k = 0; k < mine; ++k) share += sums[k * kTopThreads + threadIdx.x];
  } else {
    share = numerics::Sum<double>(mine, [&](std::int64_t k) { return sums[k * kTopThreads + threadIdx.x]; });
  }
  const double y = BlockSum<kTopThreads>(share);
  if (threadIdx.x == 0) PutSum(sink, y, n);
}

// As many pointers as a launch's parameters hold well.
struct Scalars {
  static constexpr int kMost = 448;
  const float* at[kMost];
};

__global__ void Gather(const __grid_constant__ Scalars scalars, int count, float* to) {
  for (int k = static_cast<int>(threadIdx.x); k < count; k += static_cast<int>(blockDim.x)) to[k] = *scalars.at[k];
}

__device__ void PutClipScale(const float* squares, std::int64_t count, float max_norm, int output, const Sink& sink) {
  const auto square = [&](std::int64_t k) { return squares[k]; };
  if (sink.bounded()) {
    sink.Put(0, rounded::ClipScale<Near>(count, square, max_norm, output));
  } else {
    sink.Put(0, rounded::ClipScale<double>(count, square, max_norm, output));
  }
}

// A warp for each output.
__global__ void ClipScale(const float* squares, std::int64_t count, float max_norm, const __grid_constant__ Sink norm,
                          const __grid_constant__ Sink factor) {
  if (threadIdx.x == 0) PutClipScale(squares, count, max_norm, 0, norm);
  if (threadIdx.x == 32) PutClipScale(squares, count, max_norm, 1, factor);
}

}  // namespace

void Run_sum_squares(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const std::int64_t n = args.in_type(0).elements(), pieces = std::max<std::int64_t>(1, cuda::CeilDiv(n, kPiece));
  auto* sums = pieces > 1 ? static_cast<double*>(context.Scratch(static_cast<std::size_t>(pieces) * sizeof(double))) : nullptr;
  SumPieces<<<static_cast<unsigned>(pieces), kPieceThreads, 0, context.stream()>>>(args.In<float>(0), n, sums, sinks[0]);
  cuda::CheckLaunch("sum_squares");
  if (pieces == 1) return;
  SumOfPieces<<<1, kTopThreads, 0, context.stream()>>>(sums, pieces, n, sinks[0]);
  cuda::CheckLaunch("sum_squares");
}

void Run_clip_scale(const KernelArgs& args, std::span<const Sink> sinks, Context& context) {
  const std::size_t count = args.in.size();
  auto* squares = static_cast<float*>(context.Scratch(count * sizeof(float)));
  for (std::size_t begin = 0; begin < count; begin += Scalars::kMost) {
    const std::size_t end = std::min(count, begin + Scalars::kMost);
    Scalars scalars{};
    for (std::size_t k = begin; k < end; ++k) scalars.at[k - begin] = args.In<float>(k);
    Gather<<<1, 128, 0, context.stream()>>>(scalars, static_cast<int>(end - begin), squares + begin);
    cuda::CheckLaunch("clip_scale");
  }
  ClipScale<<<1, 64, 0, context.stream()>>>(squares, static_cast<std::int64_t>(count), args.attrs().Float(0), sinks[0],
                                            sinks[1]);
  cuda::CheckLaunch("clip_scale");
}

}  // namespace assay::cublas
