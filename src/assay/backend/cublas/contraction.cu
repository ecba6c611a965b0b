#include "assay/backend/cublas/contraction.h"

#include <algorithm>

#include "assay/backend/cuda/launch-inl.h"
#include "assay/numerics/sums.h"

namespace assay::cublas {
namespace {

// Sums of blocks that wait in memory: rows of the output are taken in pieces of about so many bytes.
constexpr std::int64_t kWaitingBytes = std::int64_t{768} << 20;

// How a product is cut.
struct Cut {
  std::int64_t block = 0;  // places of a block
  std::int64_t full = 0;   // blocks
  std::int64_t rest = 0;   // places of the last, if it is shorter
  std::int64_t rows = 0;   // of a piece
  std::int64_t parts() const { return full + (rest > 0 ? 1 : 0); }
};

template <class T>
Cut CutOf(const Products& p) {
  Cut cut;
  cut.block = sizeof(T) == sizeof(double) ? numerics::ContractionBlock(p.k) : std::max<std::int64_t>(p.k, 1);
  cut.full = p.k / cut.block;
  cut.rest = p.k % cut.block;
  const std::int64_t row_bytes = std::max<std::int64_t>(1, cut.parts() * p.n * static_cast<std::int64_t>(sizeof(T)));
  cut.rows =
      p.batch > 1 ? p.m : std::clamp<std::int64_t>(kWaitingBytes / row_bytes / 128 * 128, 128, std::max<std::int64_t>(p.m, 1));
  return cut;
}

template <class T>
struct Workspace {
  Workspace(Cutter cutter, const Products& p, const Cut& cut, bool bounded)
      : parts(cutter.Take<T>(cut.parts() * p.batch * std::min(cut.rows, p.m) * p.n)),
        norms_a(cutter.Take<double>(bounded ? p.batch * p.m : 0)),
        norms_b(cutter.Take<double>(bounded ? p.batch * p.n : 0)),
        squares(cutter.Take<double>(bounded ? ScratchOfNorms(p.batch, std::max(p.m, p.n)) : 0)),
        bytes(cutter.used()) {}
  T* parts;
  double *norms_a, *norms_b, *squares;
  std::size_t bytes;
};

__device__ double WarpSum(double x) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

// The sum of what kTeam threads hold, in all of them: a warp, or the whole block.
template <int kTeam>
__device__ double TeamSum(double x) {
  x = WarpSum(x);
  if constexpr (kTeam > 32) {
    __shared__ double sums[kTeam / 32];
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = x;
    __syncthreads();
    x = WarpSum(threadIdx.x % 32 < kTeam / 32 ? sums[threadIdx.x % 32] : 0.0);
  }
  return x;
}

// Norms of lines whose places are adjacent: a team takes a line. Where `to` is not null the line is copied there, without gaps.
template <class T, int kTeam>
__global__ void __launch_bounds__(kThreads)
    RowNorms(const Lines<T> lines, std::int64_t batch, std::int64_t count, std::int64_t k, double* to, double* norms) {
  const std::int64_t line = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) / kTeam;
  if (line >= batch * count) return;  // a whole team
  const T* base = lines.base + line / count * lines.batch + line % count * lines.step;
  double sum = 0;
  std::int64_t done = 0;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (k % 4 == 0 && lines.step % 4 == 0 && lines.batch % 4 == 0) {  // so that lines begin at multiples of 16 bytes
      const auto* vectors = reinterpret_cast<const float4*>(base);
      auto* pairs = reinterpret_cast<double2*>(to + line * k);
#pragma unroll 2
      for (std::int64_t i = threadIdx.x % kTeam; i < k / 4; i += kTeam) {
        const float4 v = __ldg(vectors + i);
        const double a = v.x, b = v.y, c = v.z, d = v.w;
        sum += (a * a + b * b) + (c * c + d * d);
        if (to != nullptr) {
          pairs[2 * i] = make_double2(a, b);
          pairs[2 * i + 1] = make_double2(c, d);
        }
      }
      done = k;
    }
  }
#pragma unroll 4
  for (std::int64_t i = done + threadIdx.x % kTeam; i < k; i += kTeam) {
    const double x = base[i];
    sum += x * x;
    if (to != nullptr) to[line * k + i] = x;
  }
  sum = TeamSum<kTeam>(sum);
  if (threadIdx.x % kTeam == 0) norms[line] = sqrt(sum);
}

// Of lines that are adjacent themselves, the squares of `share` places: 32 lines a block, its warps share the places. squares[share][batch][line]; of one share the norms.
template <class T>
__global__ void ColumnSquares(const Lines<T> lines, std::int64_t batch, std::int64_t count, std::int64_t k, std::int64_t share,
                              double* to, double* squares) {
  __shared__ double sums[32][33];
  const std::int64_t blocks = (count + 31) / 32, product = blockIdx.x / blocks, first = blockIdx.x % blocks * 32;
  const std::int64_t line = first + threadIdx.x, begin = blockIdx.y * share, end = begin + share < k ? begin + share : k;
  const T* base = lines.base + product * lines.batch + line;
  double sum = 0;
  if (line < count) {
#pragma unroll 4
    for (std::int64_t i = begin + threadIdx.y; i < end; i += 32) {
      const double x = base[i * lines.step];
      sum += x * x;
      if (to != nullptr) to[(product * k + i) * count + line] = x;
    }
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  const double total = WarpSum(sums[threadIdx.x][threadIdx.y]);
  const std::int64_t mine = first + threadIdx.y;
  if (threadIdx.x == 0 && mine < count)
    squares[(blockIdx.y * batch + product) * count + mine] = gridDim.y == 1 ? sqrt(total) : total;
}

__global__ void RootsOfSums(const double* squares, std::int64_t shares, std::int64_t n, double* norms) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (std::int64_t share = 0; share < shares; ++share) sum += squares[share * n + i];
  norms[i] = sqrt(sum);
}

// How many shares the places of adjacent lines are cut into, so that there are blocks enough.
std::int64_t SharesOf(std::int64_t batch, std::int64_t count, std::int64_t k) {
  const std::int64_t blocks = batch * cuda::CeilDiv(count, 32);
  return std::clamp<std::int64_t>(std::min(256 / std::max<std::int64_t>(blocks, 1), k / 1024), 1, 128);
}

// Copies the lines as well where `to` is not null.
template <class T>
void Norms(const Lines<T>& lines, std::int64_t batch, std::int64_t count, std::int64_t k, double* to, double* squares,
           double* norms, cudaStream_t stream) {
  const std::int64_t all = batch * count;
  if (lines.k_adjacent && k <= 2048) {
    RowNorms<T, 32><<<cuda::GridFor(all, kThreads / 32), kThreads, 0, stream>>>(lines, batch, count, k, to, norms);
  } else if (lines.k_adjacent) {
    RowNorms<T, kThreads><<<cuda::GridFor(all, 1), kThreads, 0, stream>>>(lines, batch, count, k, to, norms);
  } else {
    const std::int64_t shares = SharesOf(batch, count, k), share = cuda::CeilDiv(k, shares);
    const dim3 grid(static_cast<unsigned>(batch * cuda::CeilDiv(count, 32)), static_cast<unsigned>(shares));
    ColumnSquares<<<grid, dim3(32, 32), 0, stream>>>(lines, batch, count, k, share, to, shares == 1 ? norms : squares);
    if (shares > 1) RootsOfSums<<<cuda::GridFor(all, kThreads), kThreads, 0, stream>>>(squares, shares, all, norms);
  }
  cuda::CheckLaunch("Norms");
}

// Rows [first, first + rows) of every product of a batch: the sums of blocks, added one after the other, are rounded. A block of threads takes kThreads columns and kRowsAtOnce rows at a time.
constexpr int kRowsAtOnce = 4;

template <class T, bool kBounded>
__global__ void __launch_bounds__(kThreads)
    RoundParts(const T* __restrict__ parts, std::int64_t count, const __grid_constant__ Products p, std::int64_t first,
               std::int64_t rows, double factor, const double* __restrict__ norms_a, const double* __restrict__ norms_b,
               const __grid_constant__ Sink sink) {
  const std::int64_t j = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= p.n) return;
  const std::int64_t lines = p.batch * rows, part_size = lines * p.n;
  const double of_column = kBounded && p.batch == 1 ? factor * norms_b[j] : 0.0;
  for (std::int64_t line = static_cast<std::int64_t>(blockIdx.y) * kRowsAtOnce; line < lines;
       line += static_cast<std::int64_t>(gridDim.y) * kRowsAtOnce) {
    double y[kRowsAtOnce];
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r) y[r] = count > 0 && line + r < lines ? double{parts[(line + r) * p.n + j]} : 0.0;
    for (std::int64_t part = 1; part < count; ++part) {
#pragma unroll
      for (int r = 0; r < kRowsAtOnce; ++r) {
        if (line + r < lines) y[r] += double{parts[part * part_size + (line + r) * p.n + j]};
      }
    }
#pragma unroll
    for (int r = 0; r < kRowsAtOnce; ++r) {
      if (line + r >= lines) break;
      const std::int64_t product = p.batch == 1 ? 0 : (line + r) / rows, i = first + line + r - product * rows;
      const std::int64_t to = p.origin + (p.rows != nullptr ? p.rows[i] : product * p.m * p.n + i * p.row_stride) + j;
      if constexpr (kBounded) {
        // A norm that is not finite says nothing; the result is not finite either, or it is open.
        const double column = p.batch == 1 ? of_column : factor * norms_b[product * p.n + j];
        sink.Put(to, y[r], column * norms_a[product * p.m + i]);
      } else {
        sink.Put(to, y[r]);
      }
    }
  }
}

dim3 RoundingGrid(std::int64_t lines, std::int64_t columns) {
  return dim3(static_cast<unsigned>(cuda::CeilDiv(columns, kThreads)),
              static_cast<unsigned>(std::min<std::int64_t>(cuda::CeilDiv(lines, kRowsAtOnce), 65535)));
}

__global__ void __launch_bounds__(kThreads) WidenAll(const float* __restrict__ from, std::int64_t n, double* __restrict__ to) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n / 4; i += stride) {
    const float4 x = __ldg(reinterpret_cast<const float4*>(from) + i);
    reinterpret_cast<double2*>(to)[2 * i] = make_double2(x.x, x.y);
    reinterpret_cast<double2*>(to)[2 * i + 1] = make_double2(x.z, x.w);
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) to[n / 4 * 4 + threadIdx.x] = from[n / 4 * 4 + threadIdx.x];
}

// Products of places [k0, k0 + depth) of lines [first, first + rows) of a; `count` of them, `depth` places apart, or those of a batch.
template <class T>
void Multiply(const Products& p, const Lines<T>& a, const Lines<T>& b, std::int64_t first, std::int64_t rows, std::int64_t k0,
              std::int64_t depth, std::int64_t count, T* to, const Cublas& blas) {
  const auto at = [](const Lines<T>& lines, std::int64_t line, std::int64_t place) {
    return lines.base + (lines.k_adjacent ? line * lines.step + place : place * lines.step + line);
  };
  const auto apart = [&](const Lines<T>& lines) {
    return p.batch > 1 ? lines.batch : lines.k_adjacent ? depth : depth * lines.step;
  };
  blas.Gemm(!a.k_adjacent, b.k_adjacent, rows, p.n, depth, at(a, first, k0), a.step, apart(a), at(b, 0, k0), b.step, apart(b),
            to, p.n, rows * p.n, count);
}

}  // namespace

template <class T>
std::size_t ScratchOfProducts(const Products& products, bool bounded) {
  return Workspace<T>(Cutter(), products, CutOf<T>(products), bounded).bytes;
}

template <class T>
void RunProducts(const Products& p, const Lines<T>& a, const Lines<T>& b, const Sink& sink, void* scratch, Context& context) {
  if (p.batch == 0 || p.m == 0 || p.n == 0) return;
  const Cut cut = CutOf<T>(p);
  const bool bounded = sink.bounded();
  const Workspace<T> work(Cutter(scratch), p, cut, bounded);
  const double *norms_a = p.norms_a, *norms_b = p.norms_b;
  if (bounded && norms_a == nullptr) {
    Norms(a, p.batch, p.m, p.k, nullptr, work.squares, work.norms_a, context.stream());
    norms_a = work.norms_a;
  }
  if (bounded && norms_b == nullptr) {
    Norms(b, p.batch, p.n, p.k, nullptr, work.squares, work.norms_b, context.stream());
    norms_b = work.norms_b;
  }
  const double factor = numerics::ContractionDepth(p.k) * numerics::kUnit * (1 + 0x1p-20);
  for (std::int64_t first = 0; first < p.m; first += cut.rows) {
    const std::int64_t rows = std::min(cut.rows, p.m - first), size = p.batch * rows * p.n;
    if (p.batch > 1) {
      for (std::int64_t part = 0; part < cut.parts(); ++part) {
        const std::int64_t depth = std::min(cut.block, p.k - part * cut.block);
        Multiply(p, a, b, first, rows, part * cut.block, depth, p.batch, work.parts + part * size, context.blas());
      }
    } else {
      if (cut.full > 0) Multiply(p, a, b, first, rows, 0, cut.block, cut.full, work.parts, context.blas());
      if (cut.rest > 0) {
        Multiply(p, a, b, first, rows, cut.full * cut.block, cut.rest, 1, work.parts + cut.full * size, context.blas());
      }
    }
    const dim3 grid = RoundingGrid(p.batch * rows, p.n);
    if (bounded) {
      RoundParts<T, true>
          <<<grid, kThreads, 0, context.stream()>>>(work.parts, cut.parts(), p, first, rows, factor, norms_a, norms_b, sink);
    } else {
      RoundParts<T, false>
          <<<grid, kThreads, 0, context.stream()>>>(work.parts, cut.parts(), p, first, rows, factor, nullptr, nullptr, sink);
    }
    cuda::CheckLaunch("RoundParts");
  }
}

template std::size_t ScratchOfProducts<double>(const Products&, bool);
template std::size_t ScratchOfProducts<float>(const Products&, bool);
template void RunProducts(const Products&, const Lines<double>&, const Lines<double>&, const Sink&, void*, Context&);
template void RunProducts(const Products&, const Lines<float>&, const Lines<float>&, const Sink&, void*, Context&);

void WidenWithNorms(const DenseLines& lines, double* to, double* squares, double* norms, cudaStream_t stream) {
  if (lines.batch * lines.count == 0) return;
  Norms<float>({lines.from, lines.k_adjacent ? lines.k : lines.count, lines.k_adjacent, lines.count * lines.k}, lines.batch,
               lines.count, lines.k, to, squares, norms, stream);
}

void Widen(const float* from, std::int64_t n, double* to, cudaStream_t stream) {
  if (n == 0) return;
  WidenAll<<<cuda::GridFor(n, 8 * kThreads), kThreads, 0, stream>>>(from, n, to);
  cuda::CheckLaunch("Widen");
}

}  // namespace assay::cublas
