// Kernels of softmax and cross-entropy: a warp for a row of up to 1024 elements, held in registers, a block for a longer one.
//
// The long rows of a language model's losses are read from memory about once: while a block looks for the maximum it keeps as
// much of the row as half of a multiprocessor's shared memory holds, and looks for the rest in the second-level cache when it
// sums the exponentials. Two blocks at a time, so that one computes while the other reads, are worth more than the whole row in
// one block's memory.
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/row_kernels-inl.h"
#include "assay/backend/cuda/rows-inl.h"
#include "assay/ops/rules.h"

namespace assay::cuda {
namespace {

// Of a block of WideCrossEntropy, two of which share a multiprocessor.
constexpr int kLossThreads = 544;

using numerics::device::Exp;
using numerics::device::Log;

__device__ __forceinline__ float CanonicalNan() { return __int_as_float(static_cast<int>(numerics::kCanonicalNan)); }

struct Softmax {
  static constexpr int kSums = 1, kHeld = 1;
  const float* in;
  float* out;
  std::int64_t n;

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* x = in + number * n;
    float* y = out + number * n;
    const auto xs = row.Hold([=](int, auto i) { return __ldg(x + i); });
    const float m = row.Max(xs);
    const auto e = row.Hold([=](int k, auto i) { return Exp<Device>(__fsub_rn(xs(k, i), m)); });
    float sum[1];
    row.Reduce(sum, [&](float(&acc)[1], int k, auto i) { acc[0] = __fadd_rn(acc[0], e(k, i)); });
    row.ForEach([&](int k, auto i) { y[i] = Device::Canonical(__fdiv_rn(e(k, i), sum[0])); });
  }
};

struct SoftmaxGrad {
  static constexpr int kSums = 1, kHeld = 2;
  const float* in;
  const float* gradient;
  float* out;
  std::int64_t n;

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* y = in + number * n;
    const float* dy = gradient + number * n;
    float* dx = out + number * n;
    const auto ys = row.Hold([=](int, auto i) { return __ldg(y + i); });
    const auto dys = row.Hold([=](int, auto i) { return __ldg(dy + i); });
    float d[1];
    row.Reduce(d, [&](float(&acc)[1], int k, auto i) { acc[0] = __fmaf_rn(ys(k, i), dys(k, i), acc[0]); });
    row.ForEach([&](int k, auto i) { dx[i] = Device::Canonical(__fmul_rn(ys(k, i), __fsub_rn(dys(k, i), d[0]))); });
  }
};

struct CrossEntropy {
  static constexpr int kSums = 1, kHeld = 1;
  const float* in;
  const std::int32_t* targets;
  float* losses;
  float* lses;
  std::int64_t n;

  __device__ void Finish(const float* x, std::int64_t number, float m, float sum) const {
    const float lse = __fadd_rn(m, Log<Device>(sum));
    const std::int32_t target = targets[number];
    float loss = CanonicalNan();
    if (target == -1) loss = 0.0f;
    if (target >= 0 && target < n) loss = __fsub_rn(lse, x[target]);
    losses[number] = Device::Canonical(loss);
    lses[number] = Device::Canonical(lse);
  }

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* x = in + number * n;
    const auto xs = row.Hold([=](int, auto i) { return __ldg(x + i); });
    const float m = row.Max(xs);
    float sum[1];
    row.Reduce(sum, [&](float(&acc)[1], int k, auto i) { acc[0] = __fadd_rn(acc[0], Exp<Device>(__fsub_rn(xs(k, i), m))); });
    if (row.leads()) Finish(x, number, m, sum[0]);
  }
};

// Exp where -87 <= x <= 0: nothing is clamped there, and no product is denormal, so that 2^n can be one factor.
__device__ __forceinline__ float ExpInside(float x) {
  std::int32_t n;
  const float r = numerics::device::ExpReduce<Device>(x, n);
  const float y = __fmaf_rn(__fmaf_rn(numerics::device::ExpQ<Device>(r), r, 1.0f), r, 1.0f);
  return __fmul_rn(y, numerics::device::Exp2Int<Device>(n));
}

struct Extremes {
  float max = MinusInfinity();
  float min = -MinusInfinity();

  __device__ __forceinline__ void Take(float x) {
    max = LooseMax(max, x);
    min = x < min ? x : min;
  }
};

// Takes the lane's elements of a piece of the row into `seen`, and copies them into `kept` unless that is null. Each lane reads
// back what it wrote.
__device__ __forceinline__ void TakePiece(const float* x, std::int64_t n, float* kept, Extremes& seen) {
  if (n >= kRowPiece) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float value[16];
#pragma unroll
      for (int k = 0; k < 16; ++k) value[k] = __ldg(x + Lane() + 32 * (16 * half + k));
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        seen.Take(value[k]);
        if (kept != nullptr) kept[Lane() + 32 * (16 * half + k)] = value[k];
      }
    }
  } else {
    for (int i = Lane(); i < n; i += 32) {
      const float value = __ldg(x + i);
      seen.Take(value);
      if (kept != nullptr) kept[i] = value;
    }
  }
}

// The first `kept_pieces` pieces of a row stay in shared memory; a warp takes the same pieces each time.
__global__ void __launch_bounds__(kLossThreads, 2) WideCrossEntropy(CrossEntropy op, std::int64_t rows, int kept_pieces) {
  extern __shared__ float kept[];
  __shared__ WideSums<1> sums;
  const WideRow<1> wide(op.n, sums);
  const std::int64_t pieces = CeilDiv(op.n, kRowPiece);
  for (std::int64_t number = blockIdx.x; number < rows; number += gridDim.x) {
    const float* x = op.in + number * op.n;
    Extremes seen;
    for (std::int64_t p = threadIdx.x / 32; p < pieces; p += blockDim.x / 32) {
      TakePiece(x + p * kRowPiece, op.n - p * kRowPiece, p < kept_pieces ? kept + p * kRowPiece : nullptr, seen);
    }
    const float m = wide.MaxOfWarps(seen.max);
    // Up to 1024 pieces the warp has seen all elements that it will sum.
    const bool inside = pieces <= kRowPiece && __all_sync(kAllLanes, __fsub_rn(seen.min, m) >= -87.0f);
    float sum[1];
    wide.ReducePieces(sum, [&](std::int64_t piece, float(&of_piece)[1]) {
      const auto add = [&](const auto& exp_at) {
        wide.SumPiece(piece, of_piece, [&](float(&acc)[1], int, std::int64_t i) { acc[0] = __fadd_rn(acc[0], exp_at(i)); });
      };
      const bool is_kept = piece < kept_pieces;
      if (inside && is_kept) {
        add([&](std::int64_t i) { return ExpInside(__fsub_rn(kept[i], m)); });
      } else if (inside) {
        add([&](std::int64_t i) { return ExpInside(__fsub_rn(__ldg(x + i), m)); });
      } else {
        add([&](std::int64_t i) { return Exp<Device>(__fsub_rn(is_kept ? kept[i] : __ldg(x + i), m)); });
      }
    });
    if (wide.leads()) op.Finish(x, number, m, sum[0]);
  }
}

void LaunchWideCrossEntropy(const CrossEntropy& op, std::int64_t rows, Context& context) {
  constexpr std::int64_t kPieceBytes = kRowPiece * static_cast<std::int64_t>(sizeof(float));
  // Two blocks to a multiprocessor, so that one reads while the other computes; each has WideSums beside what it keeps, and 1 KiB
  // is the system's.
  const std::int64_t bytes =
      static_cast<std::int64_t>(context.max_shared_bytes()) / 2 - static_cast<std::int64_t>(sizeof(WideSums<1>)) - 1024;
  const int kept = static_cast<int>(std::clamp<std::int64_t>(bytes / kPieceBytes, 0, CeilDiv(op.n, kRowPiece)));
  Check(
      cudaFuncSetAttribute(WideCrossEntropy, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kept * kPieceBytes)),
      "shared memory of cross_entropy");
  WideCrossEntropy<<<GridFor(rows, 1), WideThreads(context, op.n, kLossThreads / 32, kLossThreads),
                     static_cast<std::size_t>(kept * kPieceBytes), context.stream()>>>(op, rows, kept);
  CheckLaunch("cross_entropy");
}

struct CrossEntropyGrad {
  static constexpr int kSums = 1, kHeld = 2;
  const float* in;
  const std::int32_t* targets;
  const float* lses;
  const float* gradient;
  float* out;
  std::int64_t n;

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* x = in + number * n;
    float* dx = out + number * n;
    const std::int32_t target = targets[number];
    if (target < 0 || target >= n) {
      const float fill = target == -1 ? 0.0f : CanonicalNan();
      row.ForEach([&](int, auto i) { dx[i] = fill; });
      return;
    }
    const float lse = lses[number];
    const float dloss = gradient[number];
    row.ForEach([&](int, auto i) {
      const float p = Exp<Device>(__fsub_rn(__ldg(x + i), lse));
      dx[i] = Device::Canonical(__fmul_rn(__fsub_rn(p, i == target ? 1.0f : 0.0f), dloss));
    });
  }
};

// A block for a long row, in fours from the first place that is aligned to them. One thread mends the target's element at the end.
__global__ void __launch_bounds__(kMaxThreads, 1) WideCrossEntropyGrad(CrossEntropyGrad op, std::int64_t rows) {
  for (std::int64_t number = blockIdx.x; number < rows; number += gridDim.x) {
    const std::int32_t target = op.targets[number];
    const bool valid = target >= 0 && target < op.n;
    const float fill = target == -1 ? 0.0f : CanonicalNan();
    const float* x = op.in + number * op.n;
    float* dx = op.out + number * op.n;
    const float lse = op.lses[number];
    const float dloss = op.gradient[number];
    const auto value = [&](float v) { return Device::Canonical(__fmul_rn(Exp<Device>(__fsub_rn(v, lse)), dloss)); };
    const auto single = [&](int i) { dx[i] = valid ? value(__ldg(x + i)) : fill; };
    const int n = static_cast<int>(op.n);
    const int head = static_cast<int>(-number * op.n & 3);
    const int fours = (n - head) / 4;
    const auto* x4 = reinterpret_cast<const float4*>(x + head);
    auto* dx4 = reinterpret_cast<float4*>(dx + head);
#pragma unroll 2
    for (int k = static_cast<int>(threadIdx.x); k < fours; k += static_cast<int>(blockDim.x)) {
      const float4 v = __ldg(x4 + k);
      dx4[k] = valid ? float4{value(v.x), value(v.y), value(v.z), value(v.w)} : float4{fill, fill, fill, fill};
    }
    const int thread = static_cast<int>(threadIdx.x), tail = head + 4 * fours;
    if (thread < head) single(thread);
    if (thread < n - tail) single(tail + thread);
    __syncthreads();
    if (threadIdx.x == 0 && valid) {
      const float p = Exp<Device>(__fsub_rn(__ldg(x + target), lse));
      dx[target] = Device::Canonical(__fmul_rn(__fsub_rn(p, 1.0f), dloss));
    }
  }
}

}  // namespace

void Run_softmax(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  LaunchRows(Softmax{args.In<float>(0), args.Out<float>(0), view.cols}, view.rows, context, "softmax");
}

void Run_softmax_grad(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  LaunchRows(SoftmaxGrad{args.In<float>(0), args.In<float>(1), args.Out<float>(0), view.cols}, view.rows, context,
             "softmax_grad");
}

void Run_cross_entropy(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const CrossEntropy op{args.In<float>(0), args.In<std::int32_t>(1), args.Out<float>(0), args.Out<float>(1), view.cols};
  if (view.cols > kRowPiece && view.rows > 0) {
    LaunchWideCrossEntropy(op, view.rows, context);
  } else {
    LaunchRows(op, view.rows, context, "cross_entropy");
  }
}

void Run_cross_entropy_grad(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const CrossEntropyGrad op{.in = args.In<float>(0),
                            .targets = args.In<std::int32_t>(1),
                            .lses = args.In<float>(2),
                            .gradient = args.In<float>(3),
                            .out = args.Out<float>(0),
                            .n = view.cols};
  if (view.cols > kRowPiece && view.rows > 0) {
    WideCrossEntropyGrad<<<GridFor(view.rows, 1), ThreadsOr(context, 512, kMaxThreads), 0, context.stream()>>>(op, view.rows);
    CheckLaunch("cross_entropy_grad");
  } else {
    LaunchRows(op, view.rows, context, "cross_entropy_grad");
  }
}

}  // namespace assay::cuda
