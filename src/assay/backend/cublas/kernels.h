// The kernels of rounded training on the device. Each family file defines launchers
//
//   void Run_NAME(const KernelArgs& args, std::span<const Sink> sinks, Context& context);
//
// which enqueue the whole op: operands are device pointers, sinks[k] is where output k goes (unused for outputs that hold integers). A launcher never waits and never looks at values.
// The formulas, the orders that sums may have and the bounds are those of docs/ROUNDING.md, sections 2 and 3, whatever the shape of the launch.
#pragma once

#include <span>

#include "assay/backend/cublas/cublas.h"
#include "assay/backend/cublas/sink.h"
#include "assay/backend/cuda/kernels.h"
#include "assay/backend/cutter.h"

namespace assay::cublas {

// Of a block, where a kernel has no reason for another number.
constexpr int kThreads = 256;

// What launchers may use beside their arguments. One per backend.
class Context {
 public:
  Context(cuda::Context& device, Cublas blas, bool single) : device_(device), blas_(std::move(blas)), single_(single) {}

  cudaStream_t stream() const { return device_.stream(); }
  int multiprocessors() const { return device_.multiprocessors(); }
  const Cublas& blas() const { return blas_; }
  // Contractions are done in FP32.
  bool single() const { return single_; }

  // Device memory of at least `bytes`, 256-byte aligned, of undefined content, for the kernels of the calling launcher. One call for each launcher. Throws OutOfMemory.
  void* Scratch(std::size_t bytes) { return device_.Scratch(bytes); }

 private:
  cuda::Context& device_;
  Cublas blas_;
  bool single_;
};

using Kernel = void (*)(const KernelArgs& args, std::span<const Sink> sinks, Context& context);

#define ASSAY_OP(name, wire_id, version, kind, results) \
  void Run_##name(const KernelArgs& args, std::span<const Sink> sinks, Context& context);
#include "assay/ops/op_table.inc"
#undef ASSAY_OP

}  // namespace assay::cublas
