// What kernels share: threads, OpenBLAS, scratch memory. One per backend; kernels run one at a time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/backend/cutter.h"
#include "assay/backend/openblas/blas.h"
#include "assay/backend/openblas/output.h"
#include "assay/base/thread_pool.h"
#include "assay/tensor/memory_space.h"

namespace assay::rounded {

class Context {
 public:
  Context(ThreadPool& pool, Blas blas, bool single)
      : pool_(pool), blas_(std::move(blas)), single_(single), scratch_(static_cast<std::size_t>(pool.threads())) {}

  ThreadPool& pool() const { return pool_; }
  const Blas& blas() const { return blas_; }
  // Contractions are done in FP32.
  bool single() const { return single_; }

  // Uninitialised, 64-byte aligned, private to the worker during a ParallelFor and reused by the next.
  void* Scratch(int worker, std::size_t bytes) {
    Allocation& mine = scratch_[static_cast<std::size_t>(worker)];
    if (mine.bytes() < bytes) {
      mine = {};
      mine = Allocation(HostMemory(), bytes);
    }
    return mine.data();
  }

 private:
  ThreadPool& pool_;
  Blas blas_;
  bool single_;
  std::vector<Allocation> scratch_;
};

// The whole op by its formula, range by range; what every op can do and the kernels below do faster.
void RunFormula(const KernelArgs& args, std::span<const Output> outputs, Context& context);

// Elements `range` of an elementwise op on the calling thread.
void RunElementsByFormula(const KernelArgs& args, std::span<const Output> outputs, Range range);

using Kernel = void (*)(const KernelArgs& args, std::span<const Output> outputs, Context& context);

void Run_matmul(const KernelArgs& args, std::span<const Output> outputs, Context& context);
void Run_conv2d(const KernelArgs& args, std::span<const Output> outputs, Context& context);
void Run_conv2d_grad_x(const KernelArgs& args, std::span<const Output> outputs, Context& context);
void Run_conv2d_grad_w(const KernelArgs& args, std::span<const Output> outputs, Context& context);
void Run_attention(const KernelArgs& args, std::span<const Output> outputs, Context& context);
void Run_attention_grad(const KernelArgs& args, std::span<const Output> outputs, Context& context);
void Run_batchnorm_train(const KernelArgs& args, std::span<const Output> outputs, Context& context);
void Run_batchnorm_grad(const KernelArgs& args, std::span<const Output> outputs, Context& context);
void Run_sum_squares(const KernelArgs& args, std::span<const Output> outputs, Context& context);

}  // namespace assay::rounded
