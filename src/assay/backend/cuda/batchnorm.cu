// Kernels of batchnorm. With up to 4096 rows a thread block has whole columns and one launch does everything; with more, each sum over all rows ends
// with a launch, and the next launch adds the sums of chunks first.
#include "assay/backend/cuda/columns-inl.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/ops/rules.h"

namespace assay::cuda {
namespace {

using numerics::device::Rsqrt;

// Sums of chunks, or null when there is one chunk only.
struct Partials {
  const float* sums = nullptr;
  std::int64_t chunks = 0, cols = 0;

  template <int S>
  __device__ void Total(std::int64_t c, float (&sum)[S]) const {
    ColumnTotal(sums, chunks, cols, c, sum);
  }
};

// What the last pass of training and inference needs of a column.
struct Affine {
  float mean, factor, beta;
};

__device__ __forceinline__ float Normalized(float x, const Affine& a) {
  return Device::Canonical(__fmaf_rn(__fsub_rn(x, a.mean), a.factor, a.beta));
}

struct SumOfX {
  static constexpr int kSums = 1;
  const float* in;

  struct Column {};
  __device__ Column Prepare(std::int64_t) const { return {}; }
  __device__ __forceinline__ void Step(float (&acc)[1], const Column&, std::int64_t, std::int64_t i) const {
    acc[0] = __fadd_rn(acc[0], __ldg(in + i));
  }
  __device__ void Finish(std::int64_t, const float (&)[1]) const {}
};

struct SumOfSquares {
  static constexpr int kSums = 1;
  const float* in;
  Partials sums;
  float count;

  struct Column {
    float mean;
  };
  __device__ Column Prepare(std::int64_t c) const {
    float sum[1];
    sums.Total(c, sum);
    return {__fdiv_rn(sum[0], count)};
  }
  __device__ __forceinline__ void Step(float (&acc)[1], const Column& column, std::int64_t, std::int64_t i) const {
    const float d = __fsub_rn(__ldg(in + i), column.mean);
    acc[0] = __fmaf_rn(d, d, acc[0]);
  }
  __device__ void Finish(std::int64_t, const float (&)[1]) const {}
};

struct Train {
  const float *in, *gamma, *beta;
  float *out, *means, *vars, *rstds;
  float count, eps;
  Partials sums{}, squares{};

  using Column = Affine;
  // From the two totals of a column, which `stores` its statistics.
  __device__ Affine Close(std::int64_t c, float mean, float square, bool stores) const {
    const float var = __fdiv_rn(square, count);
    const float rstd = Rsqrt<Device>(__fadd_rn(var, eps));
    if (stores) {
      means[c] = Device::Canonical(mean);
      vars[c] = Device::Canonical(var);
      rstds[c] = Device::Canonical(rstd);
    }
    return {mean, __fmul_rn(__ldg(gamma + c), rstd), __ldg(beta + c)};
  }
  __device__ Affine Prepare(std::int64_t c, bool stores) const {
    float sum[1], square[1];
    sums.Total(c, sum);
    squares.Total(c, square);
    return Close(c, __fdiv_rn(sum[0], count), square[0], stores);
  }
  __device__ __forceinline__ void Map(const Affine& column, std::int64_t i) const {
    out[i] = Normalized(__ldg(in + i), column);
  }
};

struct Infer {
  const float *in, *gamma, *beta, *means, *vars;
  float* out;
  float eps;

  using Column = Affine;
  __device__ Affine Prepare(std::int64_t c, bool) const {
    const float rstd = Rsqrt<Device>(__fadd_rn(__ldg(vars + c), eps));
    return {__ldg(means + c), __fmul_rn(__ldg(gamma + c), rstd), __ldg(beta + c)};
  }
  __device__ __forceinline__ void Map(const Affine& column, std::int64_t i) const {
    out[i] = Normalized(__ldg(in + i), column);
  }
};

// dgamma and dbeta.
struct GradSums {
  static constexpr int kSums = 2;
  const float *in, *means, *rstds, *gradient;

  struct Column {
    float mean, rstd;
  };
  __device__ Column Prepare(std::int64_t c) const { return {__ldg(means + c), __ldg(rstds + c)}; }
  __device__ __forceinline__ void Step(float (&acc)[2], const Column& column, std::int64_t, std::int64_t i) const {
    const float dy = __ldg(gradient + i);
    const float h = __fmul_rn(__fsub_rn(__ldg(in + i), column.mean), column.rstd);
    acc[0] = __fmaf_rn(dy, h, acc[0]);
    acc[1] = __fadd_rn(acc[1], dy);
  }
  __device__ void Finish(std::int64_t, const float (&)[2]) const {}
};

struct Grad {
  const float *in, *gamma, *means, *rstds, *gradient;
  float *out, *dgamma, *dbeta;
  float count;
  Partials sums{};

  struct Column {
    float mean, rstd, factor, dgamma_mean, dbeta_mean;
  };
  __device__ Column Close(std::int64_t c, const float (&sum)[2], bool stores) const {
    if (stores) {
      dgamma[c] = Device::Canonical(sum[0]);
      dbeta[c] = Device::Canonical(sum[1]);
    }
    const float rstd = __ldg(rstds + c);
    return {__ldg(means + c), rstd, __fmul_rn(__ldg(gamma + c), rstd), __fdiv_rn(sum[0], count), __fdiv_rn(sum[1], count)};
  }
  __device__ Column Prepare(std::int64_t c, bool stores) const {
    float sum[2];
    sums.Total(c, sum);
    return Close(c, sum, stores);
  }
  __device__ __forceinline__ void Map(const Column& column, std::int64_t i) const {
    const float h = __fmul_rn(__fsub_rn(__ldg(in + i), column.mean), column.rstd);
    const float d = __fsub_rn(__fmaf_rn(-h, column.dgamma_mean, __ldg(gradient + i)), column.dbeta_mean);
    out[i] = Device::Canonical(__fmul_rn(column.factor, d));
  }
};

// Applies op.Map to the rows [begin, end) of column c, a thread row every blockDim.y rows.
template <class Op>
__device__ __forceinline__ void MapRows(const Op& op, const typename Op::Column& column, std::int64_t begin, std::int64_t end,
                                        std::int64_t cols, std::int64_t c) {
#pragma unroll 8
  for (std::int64_t row = begin + threadIdx.y; row < end; row += blockDim.y) op.Map(column, row * cols + c);
}

// Thread blocks of [tile, thread rows] take `part` rows of a tile of columns each; the first part of a column stores what Prepare gives.
template <class Op>
__global__ void __launch_bounds__(kMaxColumnThreads, 1) MapColumns(Op op, ColumnGrid g, std::int64_t part) {
  __shared__ typename Op::Column columns[kMaxTile];
  const std::int64_t number = blockIdx.x / g.tiles;
  const std::int64_t c = blockIdx.x % g.tiles * g.tile + threadIdx.x;
  if (threadIdx.y == 0 && c < g.cols) columns[threadIdx.x] = op.Prepare(c, number == 0);
  __syncthreads();
  if (c >= g.cols) return;
  const std::int64_t begin = number * part;
  MapRows(op, columns[threadIdx.x], begin, begin + part < g.rows ? begin + part : g.rows, g.cols, c);
}

template <class Op>
void LaunchMap(const Op& op, std::int64_t rows, std::int64_t cols, Context& context, const char* name) {
  if (rows == 0 || cols == 0) return;
  ColumnGrid g{.rows = rows, .cols = cols};
  g.tile = cols > 16 ? 32 : cols > 8 ? 16 : 8;
  g.tiles = CeilDiv(cols, g.tile);
  g.thread_rows = std::max(1, ThreadsOr(context, 256, kMaxColumnThreads) / g.tile);
  // Parts for eight blocks to a multiprocessor, within what a thread does well in a loop; blocks must be countable.
  const std::int64_t wanted = CeilDiv(rows * g.tiles, 8 * context.multiprocessors());
  const std::int64_t least = CeilDiv(rows * g.tiles, std::int64_t{1} << 30);
  const std::int64_t part = std::max(least, std::clamp<std::int64_t>(wanted, 4 * g.thread_rows, 64 * g.thread_rows));
  MapColumns<<<static_cast<unsigned>(g.tiles * CeilDiv(rows, part)), g.threads(), 0, context.stream()>>>(op, g, part);
  CheckLaunch(name);
}

// Up to 4096 rows: all passes of a tile of columns in one block.
__global__ void __launch_bounds__(kMaxColumnThreads, 1) TrainAtOnce(Train op, ColumnGrid g) {
  __shared__ ChunkSums<1> sums;
  __shared__ float means[kMaxTile];
  __shared__ Affine columns[kMaxTile];
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * g.tile + threadIdx.x;
  const bool closes = threadIdx.y == 0 && c < g.cols;
  float sum[1];
  SumChunk<1>(SumOfX{op.in}, SumOfX::Column{}, g, 0, c, sums, sum);
  if (closes) means[threadIdx.x] = __fdiv_rn(sum[0], op.count);
  __syncthreads();
  const float mean = means[threadIdx.x];
  SumChunk<1>(SumOfSquares{op.in, {}, op.count}, SumOfSquares::Column{mean}, g, 0, c, sums, sum);
  if (closes) columns[threadIdx.x] = op.Close(c, mean, sum[0], true);
  __syncthreads();
  if (c < g.cols) MapRows(op, columns[threadIdx.x], 0, g.rows, g.cols, c);
}

__global__ void __launch_bounds__(kMaxColumnThreads, 1) GradAtOnce(Grad op, ColumnGrid g) {
  __shared__ ChunkSums<2> sums;
  __shared__ Grad::Column columns[kMaxTile];
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * g.tile + threadIdx.x;
  const GradSums reduction{op.in, op.means, op.rstds, op.gradient};
  float sum[2];
  SumChunk<2>(reduction, c < g.cols ? reduction.Prepare(c) : GradSums::Column{}, g, 0, c, sums, sum);
  if (threadIdx.y == 0 && c < g.cols) columns[threadIdx.x] = op.Close(c, sum, true);
  __syncthreads();
  if (c < g.cols) MapRows(op, columns[threadIdx.x], 0, g.rows, g.cols, c);
}

}  // namespace

void Run_batchnorm_train(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  Train op{.in = args.In<float>(0),
           .gamma = args.In<float>(1),
           .beta = args.In<float>(2),
           .out = args.Out<float>(0),
           .means = args.Out<float>(1),
           .vars = args.Out<float>(2),
           .rstds = args.Out<float>(3),
           .count = static_cast<float>(view.rows),
           .eps = args.attrs().Float(0)};
  const ColumnGrid g = GridOfColumns(view.rows, view.cols, context);
  if (g.chunks == 1) {
    TrainAtOnce<<<g.grid(), g.threads(), 0, context.stream()>>>(op, g);
    CheckLaunch("batchnorm_train");
    return;
  }
  const std::size_t bytes = PartialBytes(g, 1);
  auto* sums = static_cast<float*>(context.Scratch(2 * bytes));
  float* squares = sums + bytes / sizeof(float);
  op.sums = {sums, g.chunks, g.cols};
  op.squares = {squares, g.chunks, g.cols};
  ColumnChunks<<<g.grid(), g.threads(), 0, context.stream()>>>(SumOfX{op.in}, g, sums);
  CheckLaunch("batchnorm_train mean");
  ColumnChunks<<<g.grid(), g.threads(), 0, context.stream()>>>(SumOfSquares{op.in, op.sums, op.count}, g, squares);
  CheckLaunch("batchnorm_train variance");
  LaunchMap(op, view.rows, view.cols, context, "batchnorm_train");
}

void Run_batchnorm_infer(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  const Infer op{.in = args.In<float>(0),
                 .gamma = args.In<float>(1),
                 .beta = args.In<float>(2),
                 .means = args.In<float>(3),
                 .vars = args.In<float>(4),
                 .out = args.Out<float>(0),
                 .eps = args.attrs().Float(0)};
  LaunchMap(op, view.rows, view.cols, context, "batchnorm_infer");
}

void Run_batchnorm_grad(const KernelArgs& args, Context& context) {
  const ops::MatrixView view = ops::LastAxisView(args.in_type(0));
  Grad op{.in = args.In<float>(0),
          .gamma = args.In<float>(1),
          .means = args.In<float>(2),
          .rstds = args.In<float>(3),
          .gradient = args.In<float>(4),
          .out = args.Out<float>(0),
          .dgamma = args.Out<float>(1),
          .dbeta = args.Out<float>(2),
          .count = static_cast<float>(view.rows)};
  const ColumnGrid g = GridOfColumns(view.rows, view.cols, context);
  if (g.chunks == 1) {
    GradAtOnce<<<g.grid(), g.threads(), 0, context.stream()>>>(op, g);
    CheckLaunch("batchnorm_grad");
    return;
  }
  auto* sums = static_cast<float*>(context.Scratch(PartialBytes(g, 2)));
  op.sums = {sums, g.chunks, g.cols};
  ColumnChunks<<<g.grid(), g.threads(), 0, context.stream()>>>(GradSums{op.in, op.means, op.rstds, op.gradient}, g, sums);
  CheckLaunch("batchnorm_grad sums");
  LaunchMap(op, view.rows, view.cols, context, "batchnorm_grad");
}

}  // namespace assay::cuda
