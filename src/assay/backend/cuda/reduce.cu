// Kernels of row_sum col_sum row_max row_max_grad sum_squares clip_scale.
//
// A few very long rows are summed by the whole device: warps leave the sums of pieces in memory, and the block that finishes last
// sums those.
#include "assay/backend/cuda/columns-inl.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/row_kernels-inl.h"
#include "assay/backend/cuda/rows-inl.h"
#include "assay/ops/rules.h"

namespace assay::cuda {
namespace {

ops::MatrixView View(const KernelArgs& args) { return ops::SplitView(args.in_type(0), args.attrs().Int(0)); }

template <bool kSquares>
__device__ __forceinline__ float Take(float acc, float x) {
  return kSquares ? __fmaf_rn(x, x, acc) : __fadd_rn(acc, x);
}

template <bool kSquares>
struct RowSum {
  static constexpr int kSums = 1, kHeld = 1;
  const float* in;
  float* out;
  std::int64_t n;

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* x = in + number * n;
    float sum[1];
    row.Reduce(sum, [&](float(&acc)[1], int, auto i) { acc[0] = Take<kSquares>(acc[0], __ldg(x + i)); });
    if (row.leads()) out[number] = Device::Canonical(sum[0]);
  }
};

constexpr int kLongThreads = 512;

template <bool kSquares>
__global__ void __launch_bounds__(kLongThreads, 2)
    LongRows(RowSum<kSquares> op, std::int64_t rows, float* sums_of_pieces, unsigned* finished) {
  __shared__ WideSums<1> sums;
  __shared__ bool last;
  const WideRow<1> wide(op.n, sums);
  const std::int64_t pieces = CeilDiv(op.n, kRowPiece);
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * (blockDim.x / 32);
  float sum[1];
  for (std::int64_t p = GlobalThread<std::int64_t>() / 32; p < rows * pieces; p += warps) {
    const std::int64_t row = p / pieces;
    const float* x = op.in + row * op.n;
    wide.SumPiece(p - row * pieces, sum,
                  [&](float(&acc)[1], int, std::int64_t i) { acc[0] = Take<kSquares>(acc[0], __ldg(x + i)); });
    if (Lane() == 0) sums_of_pieces[p] = sum[0];
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(finished, 1) + 1 == gridDim.x;
  __syncthreads();
  if (!last) return;
  __threadfence();
  const WideRow<1> above(pieces, sums);
  for (std::int64_t row = 0; row < rows; ++row) {
    const float* terms = sums_of_pieces + row * pieces;
    above.Reduce(sum, [&](float(&acc)[1], int, std::int64_t i) { acc[0] = __fadd_rn(acc[0], __ldcg(terms + i)); });
    if (above.leads()) op.out[row] = Device::Canonical(sum[0]);
  }
}

template <bool kSquares>
void LaunchRowSum(const RowSum<kSquares>& op, std::int64_t rows, Context& context, const char* name) {
  constexpr std::int64_t kLong = 64 * kRowPiece;  // what a block reads about as fast as a second launch takes
  if (op.n <= kLong || rows >= 2 * context.multiprocessors()) {
    LaunchRows(op, rows, context, name);
    return;
  }
  if (rows == 0) return;
  const std::int64_t pieces = rows * CeilDiv(op.n, kRowPiece);
  const std::size_t bytes = static_cast<std::size_t>(pieces) * sizeof(float);
  auto* sums = static_cast<float*>(context.Scratch(bytes + sizeof(unsigned)));
  auto* finished = reinterpret_cast<unsigned*>(sums + pieces);
  Check(cudaMemsetAsync(finished, 0, sizeof(unsigned), context.stream()), name);
  const int threads = ThreadsOr(context, kLongThreads, kLongThreads);
  const auto blocks = std::min<std::int64_t>(CeilDiv(pieces, threads / 32), 4 * context.multiprocessors());
  LongRows<<<static_cast<unsigned>(blocks), threads, 0, context.stream()>>>(op, rows, sums, finished);
  CheckLaunch(name);
}

struct ColSum {
  static constexpr int kSums = 1;
  const float* in;
  float* out;

  struct Column {};
  __device__ Column Prepare(std::int64_t) const { return {}; }
  __device__ __forceinline__ void Step(float (&acc)[1], const Column&, std::int64_t, std::int64_t i) const {
    acc[0] = __fadd_rn(acc[0], __ldg(in + i));
  }
  __device__ void Finish(std::int64_t c, const float (&sum)[1]) const { out[c] = Device::Canonical(sum[0]); }
};

// The lanes' maxima in ascending order of lanes: neighbours first, the left one stays when they are equal.
__device__ __forceinline__ float MaxOfLanes(float lane) {
#pragma unroll
  for (int h = 1; h < 32; h *= 2) lane = Device::Max(lane, __shfl_down_sync(kAllLanes, lane, h));
  return lane;
}

// One row for each `warps` warps of a block. Which of two equal zeros is the maximum depends on the order, so each warp has
// neighbouring elements.
__global__ void __launch_bounds__(kMaxThreads, 1)
    RowMax(const float* in, float* out, std::int64_t rows, std::int64_t n, int warps) {
  __shared__ float lanes[32][32];
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int first = warp / warps * warps;
  const std::int64_t rows_at_once = blockDim.x / 32 / warps;
  for (std::int64_t base = blockIdx.x * rows_at_once; base < rows; base += gridDim.x * rows_at_once) {
    const std::int64_t row = base + warp / warps;
    const std::int64_t share = CeilDiv(CeilDiv(n, 32), warps) * 32;
    const std::int64_t begin = (warp - first) * share;
    const std::int64_t end = begin + share < n ? begin + share : n;
    float m = MinusInfinity();
    if (row < rows && warp / warps < rows_at_once) {
#pragma unroll 8
      for (std::int64_t i = begin + Lane(); i < end; i += 32) m = Device::Max(m, __ldg(in + row * n + i));
    }
    lanes[warp][Lane()] = m;
    __syncthreads();
    if (warp == first && row < rows && warp / warps < rows_at_once) {
      for (int w = 1; w < warps; ++w) m = Device::Max(m, lanes[first + w][Lane()]);
      m = MaxOfLanes(m);
      if (Lane() == 0) out[row] = Device::Canonical(m);
    }
    __syncthreads();
  }
}

struct RowMaxGrad {
  static constexpr int kSums = 1, kHeld = 2;
  const float *in, *maxima, *gradient;
  float* out;
  std::int64_t n;

  template <class Row>
  __device__ void operator()(const Row& row, std::int64_t number) const {
    const float* x = in + number * n;
    float* dx = out + number * n;
    const float y = maxima[number];
    std::int64_t first = n;
    row.ForEach([&](int, auto i) {
      const float v = __ldg(x + i);
      if (i < first && (v == y || (y != y && v != v))) first = i;
    });
    first = row.Least(first);
    const float dy = Device::Canonical(gradient[number]);
    row.ForEach([&](int, auto i) { dx[i] = i == first ? dy : 0.0f; });
  }
};

// As many pointers as a launch's parameters hold well.
struct Scalars {
  static constexpr int kMost = 448;
  const float* at[kMost];
};

// One warp. The running total of earlier launches is in *norm.
__global__ void ClipScale(const __grid_constant__ Scalars scalars, int count, bool first, bool last, float max_norm,
                          float* norm, float* factor) {
  __shared__ float values[Scalars::kMost];
  for (int k = static_cast<int>(threadIdx.x); k < count; k += static_cast<int>(blockDim.x)) values[k] = *scalars.at[k];
  __syncthreads();
  if (threadIdx.x != 0) return;
  float total = first ? values[0] : __fadd_rn(*norm, values[0]);
  for (int k = 1; k < count; ++k) total = __fadd_rn(total, values[k]);
  if (!last) {
    *norm = total;
    return;
  }
  const float root = __fsqrt_rn(total);
  const float scale = max_norm > 0.0f && root > max_norm ? __fdiv_rn(max_norm, __fadd_rn(root, 1e-6f)) : 1.0f;
  *norm = Device::Canonical(root);
  *factor = Device::Canonical(scale);
}

}  // namespace

void Run_row_sum(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = View(args);
  LaunchRowSum(RowSum<false>{args.In<float>(0), args.Out<float>(0), view.cols}, view.rows, context, "row_sum");
}

void Run_sum_squares(const KernelArgs& args, Context& context) {
  LaunchRowSum(RowSum<true>{args.In<float>(0), args.Out<float>(0), args.in_type(0).elements()}, 1, context, "sum_squares");
}

void Run_col_sum(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = View(args);
  LaunchColumns(ColSum{args.In<float>(0), args.Out<float>(0)}, view.rows, view.cols, context, "col_sum");
}

void Run_row_max(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = View(args);
  if (view.rows == 0) return;
  const int own =
      view.cols <= kRowPiece ? 128 : static_cast<int>(std::min<std::int64_t>(kMaxThreads, CeilDiv(view.cols, kRowPiece) * 128));
  const int threads = ThreadsOr(context, own, kMaxThreads);
  const int warps = view.cols <= kRowPiece ? 1 : threads / 32;
  RowMax<<<GridFor(view.rows, threads / 32 / warps), threads, 0, context.stream()>>>(args.In<float>(0), args.Out<float>(0),
                                                                                     view.rows, view.cols, warps);
  CheckLaunch("row_max");
}

void Run_row_max_grad(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = View(args);
  LaunchRows(RowMaxGrad{args.In<float>(0), args.In<float>(1), args.In<float>(2), args.Out<float>(0), view.cols}, view.rows,
             context, "row_max_grad");
}

void Run_clip_scale(const KernelArgs& args, Context& context) {
  const std::size_t count = args.in.size();
  for (std::size_t begin = 0; begin < count; begin += Scalars::kMost) {
    const std::size_t end = std::min(count, begin + Scalars::kMost);
    Scalars scalars{};
    for (std::size_t k = begin; k < end; ++k) scalars.at[k - begin] = args.In<float>(k);
    ClipScale<<<1, 128, 0, context.stream()>>>(scalars, static_cast<int>(end - begin), begin == 0, end == count,
                                               args.attrs().Float(0), args.Out<float>(0), args.Out<float>(1));
    CheckLaunch("clip_scale");
  }
}

}  // namespace assay::cuda
