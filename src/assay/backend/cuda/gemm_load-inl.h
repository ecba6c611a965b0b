// How the tiled matmul core (gemm-inl.h) fills its shared-memory slabs. A slab holds kDepth values of k for kRows rows of one
// operand (rows of A, columns of B), k-major, so that a thread reads four neighbouring rows of one k at once. A loader copies
// asynchronously, one slab at a time, in ascending k; one that can Skip values of k serves tiles with groups. Rows beyond the
// operand repeat its last one (what they lead to is never stored); k beyond the end is left untouched and must not be used.
//
// For .cu files alone.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace assay::cuda::gemm {

template <int bytes>
__device__ __forceinline__ void CopyAsync(std::uint32_t to, const float* from) {
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from));
  }
}

// Writes +0 instead when `inside` is false; `from` is not read then, but must be a valid address.
template <int bytes>
__device__ __forceinline__ void CopyAsyncOrZero(std::uint32_t to, const float* from, bool inside) {
  const int size = inside ? bytes : 0;
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(size));
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(size));
  }
}

__device__ __forceinline__ void CommitCopies() { asm volatile("cp.async.commit_group;"); }
template <int pending>
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending));
}

// A matrix in memory: element (row, k) of matrix `batch` is data[batch · batch_stride + ...], where the one of row and k that is
// not contiguous has the stride `ld`.
struct Matrix {
  const float* data;
  std::int64_t rows, ld, batch_stride;
};

// The thread's index, read anew, so that what is derived from it for a rare path is not kept in registers.
__device__ __forceinline__ int ThreadAnew() {
  int thread;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  return thread;
}

// Addresses are a base that all threads share plus the thread's own 32-bit offset in bytes, which stays: host code sees to it
// that a tile's rows span less than that.
template <class Bytes>
__device__ __forceinline__ const float* Plus(const float* base, Bytes bytes) {
  return reinterpret_cast<const float*>(reinterpret_cast<const char*>(base) + bytes);
}

// How threads share the values of a slab where k is contiguous in memory: kSide neighbours take as many values of k of one row,
// and the copy transposes, one value at a time. A row takes four words more than it holds, which spreads a warp's writes over
// the banks.
template <int kRows, int kDepth, int kThreads, int kSide_>
struct SharedAlongK {
  static constexpr int kSide = kSide_;
  static constexpr int kLd = kRows + 4;
  static constexpr int kStep = kThreads / kSide;  // rows between a thread's passes
  static constexpr int kPasses = kRows / kStep;
  static_assert(kRows % kStep == 0 && kDepth % kSide == 0 && 32 % kSide == 0);

  static __device__ __forceinline__ int K(int thread) { return thread % kSide; }
  static __device__ __forceinline__ int Row(int thread) { return thread / kSide; }
  // Where a thread's first value goes, and its value of pass i and h values of k further on; in bytes.
  static __device__ __forceinline__ std::uint32_t To(int thread) {
    return static_cast<std::uint32_t>(K(thread) * kLd + Row(thread)) * 4;
  }
  static __device__ __forceinline__ constexpr std::uint32_t Ahead(int h, int i) {
    return static_cast<std::uint32_t>(h * kLd + i * kStep) * 4;
  }
};

// The same where rows are contiguous: neighbours take neighbouring rows of one k, kVector of them each.
template <int kRows, int kDepth, int kThreads, int kVector>
struct SharedAlongRows {
  static constexpr int kLd = kRows;
  static constexpr int kAcross = kRows / kVector < kThreads ? kRows / kVector : kThreads;  // threads side by side
  static constexpr int kParts = kRows / kVector / kAcross;
  static constexpr int kStep = kThreads / kAcross;  // values of k between a thread's passes
  static constexpr int kPasses = kDepth / kStep;
  static_assert(kThreads % kAcross == 0 && kDepth % kStep == 0 && kParts * kAcross * kVector == kRows);

  static __device__ __forceinline__ int K(int thread) { return thread / kAcross; }
  static __device__ __forceinline__ int Row(int thread, int part) {
    return thread % kAcross * kVector + part * kAcross * kVector;
  }
  // Where a thread's first values go, and those of pass i and a further part; in bytes.
  static __device__ __forceinline__ std::uint32_t To(int thread) {
    return static_cast<std::uint32_t>(K(thread) * kLd + Row(thread, 0)) * 4;
  }
  static __device__ __forceinline__ constexpr std::uint32_t Ahead(int i, int part) {
    return static_cast<std::uint32_t>(i * kStep * kLd + part * kAcross * kVector) * 4;
  }
};

// How many values of k neighbouring threads read side by side: as long a run as leaves a thread few rows to keep track of.
constexpr int SideBySide(int depth, int threads) { return depth >= 16 && threads >= 256 ? 16 : 8; }

// A matrix in which k is contiguous.
template <int kRows, int kDepth, int kThreads, int kSide = SideBySide(kDepth, kThreads)>
struct LoadAlongK {
  using Params = Matrix;
  using Layout = SharedAlongK<kRows, kDepth, kThreads, kSide>;
  static constexpr int kLd = Layout::kLd, kPasses = Layout::kPasses;

  const float* base;
  std::uint32_t from[kPasses];
  std::uint32_t to;

  __device__ __forceinline__ LoadAlongK(const Params& p, std::int64_t row, std::int64_t batch, std::int64_t first_k) {
    const int thread = static_cast<int>(threadIdx.x);
    base = p.data + batch * p.batch_stride + row * p.ld + first_k;
    to = Layout::To(thread);
    const int last = static_cast<int>(min(p.rows - row, static_cast<std::int64_t>(kRows))) - 1;
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const int r = min(Layout::Row(thread) + i * Layout::kStep, last);
      from[i] = (static_cast<std::uint32_t>(r) * static_cast<std::uint32_t>(p.ld) + Layout::K(thread)) * 4;
    }
  }

  template <bool whole>
  __device__ __forceinline__ void Load(const Params&, std::uint32_t slab, int depth) {
    const int k = whole ? 0 : Layout::K(ThreadAnew());
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
#pragma unroll
      for (int h = 0; h < kDepth; h += kSide) {
        if (whole || k + h < depth) CopyAsync<4>(slab + to + Layout::Ahead(h, i), Plus(base, from[i]) + h);
      }
    }
    base += kDepth;
  }

  __device__ __forceinline__ void Skip(const Params&, int depth) { base += depth; }
};

// A matrix in which rows are contiguous; copies of `kVector` (4 where ld is a multiple of 4, else 1) values.
template <int kRows, int kDepth, int kThreads, int kVector>
struct LoadAlongRows {
  using Params = Matrix;
  using Layout = SharedAlongRows<kRows, kDepth, kThreads, kVector>;
  static constexpr int kLd = Layout::kLd, kParts = Layout::kParts;

  const float* base;
  std::uint32_t from[kParts];
  std::uint32_t to;

  __device__ __forceinline__ LoadAlongRows(const Params& p, std::int64_t row, std::int64_t batch, std::int64_t first_k) {
    const int thread = static_cast<int>(threadIdx.x);
    base = p.data + batch * p.batch_stride + first_k * p.ld + row;
    to = Layout::To(thread);
    const int last = static_cast<int>(min(p.rows - row, static_cast<std::int64_t>(kRows))) - kVector;
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      from[part] = (static_cast<std::uint32_t>(Layout::K(thread)) * static_cast<std::uint32_t>(p.ld) +
                    min(Layout::Row(thread, part), last)) *
                   4;
    }
  }

  template <bool whole>
  __device__ __forceinline__ void Load(const Params& p, std::uint32_t slab, int depth) {
    const int k = whole ? 0 : Layout::K(ThreadAnew());
#pragma unroll
    for (int i = 0; i < Layout::kPasses; ++i) {
      if (whole || k + i * Layout::kStep < depth) {
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          CopyAsync<4 * kVector>(slab + to + Layout::Ahead(i, part), Plus(base, from[part]));
        }
      }
      base += p.ld * Layout::kStep;
    }
  }

  __device__ __forceinline__ void Skip(const Params& p, int depth) { base += p.ld * depth; }
};

}  // namespace assay::cuda::gemm
