// Kernels of batchnorm. With up to 4096 rows a thread block has whole columns, keeps x in shared memory, and one launch does
// everything; with more, each sum over all rows ends with a launch, and the next launch adds the sums of chunks first.
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
  static constexpr bool kReadsGradient = false;
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
  __device__ __forceinline__ float Value(const Affine& column, float x, float) const { return Normalized(x, column); }
};

struct Infer {
  static constexpr bool kReadsGradient = false;
  const float *in, *gamma, *beta, *means, *vars;
  float* out;
  float eps;

  using Column = Affine;
  __device__ Affine Prepare(std::int64_t c, bool) const {
    const float rstd = Rsqrt<Device>(__fadd_rn(__ldg(vars + c), eps));
    return {__ldg(means + c), __fmul_rn(__ldg(gamma + c), rstd), __ldg(beta + c)};
  }
  __device__ __forceinline__ float Value(const Affine& column, float x, float) const { return Normalized(x, column); }
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
  static constexpr bool kReadsGradient = true;
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
  __device__ __forceinline__ float Value(const Column& column, float x, float dy) const {
    const float h = __fmul_rn(__fsub_rn(x, column.mean), column.rstd);
    const float d = __fsub_rn(__fmaf_rn(-h, column.dgamma_mean, dy), column.dbeta_mean);
    return Device::Canonical(__fmul_rn(column.factor, d));
  }
};

struct One {
  float at[1];
};
struct alignas(16) Four {
  float at[4];
};

// Thread blocks of [threads, thread rows] take `part` rows of blockDim.x T's columns each; the first part of a column stores what
// Prepare gives. T is One, or Four when the number of columns allows it.
template <class T, class Op>
__global__ void __launch_bounds__(kMaxColumnThreads, 2) MapColumns(Op op, ColumnGrid g, std::int64_t part) {
  constexpr int kWidth = sizeof(T) / sizeof(float);
  __shared__ typename Op::Column shared[kMaxTile * kWidth];
  const std::int64_t number = blockIdx.x / g.tiles;
  const std::int64_t first = blockIdx.x % g.tiles * g.tile;
  for (int k = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x); k < g.tile;
       k += static_cast<int>(blockDim.x * blockDim.y)) {
    if (first + k < g.cols) shared[k] = op.Prepare(first + k, number == 0);
  }
  __syncthreads();
  const std::int64_t c = first + kWidth * threadIdx.x;
  if (c >= g.cols) return;
  typename Op::Column column[kWidth];
#pragma unroll
  for (int k = 0; k < kWidth; ++k) column[k] = shared[kWidth * threadIdx.x + k];
  const std::int64_t end = (number + 1) * part < g.rows ? (number + 1) * part : g.rows;
#pragma unroll 4
  for (std::int64_t row = number * part + threadIdx.y; row < end; row += blockDim.y) {
    const std::int64_t i = row * g.cols + c;
    const T x = *reinterpret_cast<const T*>(op.in + i);
    T dy{};
    if constexpr (Op::kReadsGradient) dy = *reinterpret_cast<const T*>(op.gradient + i);
    T y;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) y.at[k] = op.Value(column[k], x.at[k], dy.at[k]);
    *reinterpret_cast<T*>(op.out + i) = y;
  }
}

template <class T, class Op>
void LaunchMapOf(const Op& op, std::int64_t rows, std::int64_t cols, Context& context, const char* name) {
  constexpr int kWidth = sizeof(T) / sizeof(float);
  int across = 8;
  while (across < kMaxTile && across * kWidth < cols) across *= 2;
  const int down = std::max(1, ThreadsOr(context, 256, kMaxColumnThreads) / across);
  ColumnGrid g{.rows = rows, .cols = cols};
  g.tile = across * kWidth;
  g.tiles = CeilDiv(cols, g.tile);
  // Parts for eight blocks to a multiprocessor, within what a thread does well in a loop; blocks must be countable.
  const std::int64_t wanted = CeilDiv(rows * g.tiles, 8 * context.multiprocessors());
  const std::int64_t least = CeilDiv(rows * g.tiles, std::int64_t{1} << 30);
  const std::int64_t part = std::max(least, std::clamp<std::int64_t>(wanted, 4 * down, 64 * down));
  MapColumns<T><<<static_cast<unsigned>(g.tiles * CeilDiv(rows, part)),
                  dim3(static_cast<unsigned>(across), static_cast<unsigned>(down)), 0, context.stream()>>>(op, g, part);
  CheckLaunch(name);
}

template <class Op>
void LaunchMap(const Op& op, std::int64_t rows, std::int64_t cols, Context& context, const char* name) {
  if (rows == 0 || cols == 0) return;
  if (cols % 4 == 0) {
    LaunchMapOf<Four>(op, rows, cols, context, name);
  } else {
    LaunchMapOf<One>(op, rows, cols, context, name);
  }
}

// A thread's place when it has one block of rows of one column: up to 4096 rows, a row of threads for each block. Its elements of
// x wait in shared memory, where nobody else touches them.
struct Holder {
  std::int64_t c, first, stride;  // its column, and the indices of its elements
  int count;                      // of its elements
  bool leads;                     // whether it closes the column
  float* held;
  int threads;

  __device__ Holder(const ColumnGrid& g, float* memory)
      : c(static_cast<std::int64_t>(blockIdx.x) * g.tile + threadIdx.x),
        first(kColumnBlock * threadIdx.y * g.cols + c),
        stride(g.cols),
        leads(threadIdx.y == 0 && c < g.cols),
        held(memory + threadIdx.y * blockDim.x + threadIdx.x),
        threads(static_cast<int>(blockDim.x * blockDim.y)) {
    const std::int64_t rows = g.rows - kColumnBlock * threadIdx.y;
    count = c < g.cols ? static_cast<int>(rows < kColumnBlock ? rows : kColumnBlock) : 0;
  }
  // Calls body(place where x waits, index) for its elements.
  template <class Body>
  __device__ __forceinline__ void ForEach(const Body& body) const {
    if (count == kColumnBlock) {
#pragma unroll 32
      for (int j = 0; j < kColumnBlock; ++j) body(held[j * threads], first + j * stride);
    } else {
      for (int j = 0; j < count; ++j) body(held[j * threads], first + j * stride);
    }
  }
};

__global__ void __launch_bounds__(kMaxColumnThreads, 1) TrainAtOnce(Train op, ColumnGrid g) {
  extern __shared__ float memory[];
  __shared__ ChunkSums<1> sums;
  __shared__ float means[kMaxTile];
  __shared__ Affine columns[kMaxTile];
  const Holder holder(g, memory);
  const int blocks = static_cast<int>(g.blocks);
  float sum[1] = {0.0f};
  holder.ForEach([&](float& held, std::int64_t i) {
    const float x = __ldg(op.in + i);
    held = x;
    sum[0] = __fadd_rn(sum[0], x);
  });
  sums.block[0][threadIdx.y][threadIdx.x] = sum[0];
  AddBlocks(g, blocks, sums, sum);
  if (holder.leads) means[threadIdx.x] = __fdiv_rn(sum[0], op.count);
  __syncthreads();
  const float mean = means[threadIdx.x];
  sum[0] = 0.0f;
  holder.ForEach([&](const float& held, std::int64_t) {
    const float d = __fsub_rn(held, mean);
    sum[0] = __fmaf_rn(d, d, sum[0]);
  });
  sums.block[0][threadIdx.y][threadIdx.x] = sum[0];
  AddBlocks(g, blocks, sums, sum);
  if (holder.leads) columns[threadIdx.x] = op.Close(holder.c, mean, sum[0], true);
  __syncthreads();
  const Affine column = columns[threadIdx.x];
  holder.ForEach([&](const float& held, std::int64_t i) { op.out[i] = Normalized(held, column); });
}

// dy is read again at the end, from the second-level cache.
__global__ void __launch_bounds__(kMaxColumnThreads, 1) GradAtOnce(Grad op, ColumnGrid g) {
  extern __shared__ float memory[];
  __shared__ ChunkSums<2> sums;
  __shared__ Grad::Column columns[kMaxTile];
  const Holder holder(g, memory);
  const float mean = holder.count == 0 ? 0.0f : __ldg(op.means + holder.c);
  const float rstd = holder.count == 0 ? 0.0f : __ldg(op.rstds + holder.c);
  float sum[2] = {0.0f, 0.0f};
  holder.ForEach([&](float& held, std::int64_t i) {
    const float dy = __ldg(op.gradient + i);
    const float x = __ldg(op.in + i);
    held = x;
    sum[0] = __fmaf_rn(dy, __fmul_rn(__fsub_rn(x, mean), rstd), sum[0]);
    sum[1] = __fadd_rn(sum[1], dy);
  });
#pragma unroll
  for (int s = 0; s < 2; ++s) sums.block[s][threadIdx.y][threadIdx.x] = sum[s];
  AddBlocks(g, static_cast<int>(g.blocks), sums, sum);
  if (holder.leads) columns[threadIdx.x] = op.Close(holder.c, sum, true);
  __syncthreads();
  const Grad::Column column = columns[threadIdx.x];
  holder.ForEach([&](const float& held, std::int64_t i) { op.out[i] = op.Value(column, held, __ldg(op.gradient + i)); });
}

// Runs `kernel` if a thread block has a row of threads for each block of rows, and the memory that holds them.
template <class Op>
bool LaunchAtOnce(void (*kernel)(Op, ColumnGrid), const Op& op, const ColumnGrid& g, Context& context, const char* name) {
  const std::size_t held = sizeof(float) * static_cast<std::size_t>(kColumnBlock * g.tile * g.thread_rows);
  constexpr std::size_t kOther = sizeof(ChunkSums<2>) + 2048;
  if (g.thread_rows != g.blocks || held + kOther > context.max_shared_bytes()) return false;
  Check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(held)), name);
  kernel<<<g.grid(), g.threads(), held, context.stream()>>>(op, g);
  CheckLaunch(name);
  return true;
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
  if (LaunchAtOnce(TrainAtOnce, op, g, context, "batchnorm_train")) return;
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
  if (LaunchAtOnce(GradAtOnce, op, g, context, "batchnorm_grad")) return;
  auto* sums = static_cast<float*>(context.Scratch(PartialBytes(g, 2)));
  op.sums = {sums, g.chunks, g.cols};
  ColumnChunks<<<g.grid(), g.threads(), 0, context.stream()>>>(GradSums{op.in, op.means, op.rstds, op.gradient}, g, sums);
  CheckLaunch("batchnorm_grad sums");
  LaunchMap(op, view.rows, view.cols, context, "batchnorm_grad");
}

}  // namespace assay::cuda
