// Kernels that run one body per row, in the form of rows-inl.h that suits the row's length, and their launch.
//
// An Op has a member n, the elements of a row; kSums, the sums it takes at once; kHeld, how many registers it needs for each
// element; and body(row, number of the row). A launch takes the rows from `first` on that its grid covers: a loop over rows in
// the kernel would have the compiler hold gamma and beta in registers from one row to the next.
#pragma once

#include <algorithm>
#include <cstdint>

#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cuda/launch-inl.h"
#include "assay/backend/cuda/rows-inl.h"

namespace assay::cuda {

// An exact row's kernel must find registers for that many blocks on a multiprocessor that some warps compute while others wait
// for memory.
constexpr int ExactBlocks(int registers_held) { return 65536 / kMaxNarrowThreads / (registers_held + 40); }

template <int K, bool Exact, class Op>
__global__ void __launch_bounds__(kMaxNarrowThreads, Exact ? ExactBlocks(K* Op::kHeld) : 1)
    NarrowRows(Op op, std::int64_t first, std::int64_t rows) {
  const std::int64_t row = first + static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
  if (row < rows) op(NarrowRow<K, Exact>(op.n), row);
}

template <bool Exact, class Op>
__global__ void __launch_bounds__(32 * kMediumPieces, Op::kHeld == 1 ? 2 : 1) MediumRows(Op op, std::int64_t first) {
  __shared__ MediumSums sums;
  op(MediumRow<Exact>(op.n, sums), first + blockIdx.x);
}

template <class Op>
__global__ void __launch_bounds__(kMaxThreads, 1) WideRows(Op op, std::int64_t first) {
  __shared__ WideSums<Op::kSums> sums;
  op(WideRow<Op::kSums>(op.n, sums), first + blockIdx.x);
}

// As many warps as divide the pieces evenly.
inline int WideThreads(const Context& context, std::int64_t n, int own_warps, int most) {
  const std::int64_t pieces = CeilDiv(n, kRowPiece);
  const std::int64_t rounds = CeilDiv(pieces, own_warps);
  return ThreadsOr(context, static_cast<int>(32 * std::max<std::int64_t>(4, CeilDiv(pieces, rounds))), most);
}

template <int K, class Op>
void LaunchNarrow(const Op& op, std::int64_t first, std::int64_t rows, Context& context) {
  const int threads = ThreadsOr(context, 128, kMaxNarrowThreads);
  const unsigned grid = GridFor(rows - first, threads / 32);
  if (op.n == 32 * K) {
    NarrowRows<K, true><<<grid, threads, 0, context.stream()>>>(op, first, rows);
  } else {
    NarrowRows<K, false><<<grid, threads, 0, context.stream()>>>(op, first, rows);
  }
}

template <class Op>
void LaunchMedium(const Op& op, std::int64_t first, std::int64_t rows, Context& context) {
  const auto threads = static_cast<unsigned>(32 * CeilDiv(op.n, kRowPiece));
  if (op.n % kRowPiece == 0) {
    MediumRows<true><<<GridFor(rows - first, 1), threads, 0, context.stream()>>>(op, first);
  } else {
    MediumRows<false><<<GridFor(rows - first, 1), threads, 0, context.stream()>>>(op, first);
  }
}

template <class Op>
void LaunchRowsFrom(const Op& op, std::int64_t first, std::int64_t rows, Context& context) {
  if (op.n <= 128) {
    LaunchNarrow<4>(op, first, rows, context);
  } else if (op.n <= 256) {
    LaunchNarrow<8>(op, first, rows, context);
  } else if (op.n <= 512) {
    LaunchNarrow<16>(op, first, rows, context);
  } else if (op.n <= 768) {
    LaunchNarrow<24>(op, first, rows, context);
  } else if (op.n <= kRowPiece) {
    LaunchNarrow<32>(op, first, rows, context);
  } else if (op.n <= kMediumPieces * kRowPiece && context.tuning().threads == 0) {
    LaunchMedium(op, first, rows, context);
  } else {
    WideRows<<<GridFor(rows - first, 1), WideThreads(context, op.n, 8, kMaxThreads), 0, context.stream()>>>(op, first);
  }
}

template <class Op>
void LaunchRows(const Op& op, std::int64_t rows, Context& context, const char* name) {
  for (std::int64_t first = 0; first < rows; first += kMaxGrid) {
    LaunchRowsFrom(op, first, std::min(rows, first + kMaxGrid), context);
    CheckLaunch(name);
  }
}

}  // namespace assay::cuda
