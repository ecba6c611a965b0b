// The kernels of one instruction set. Each family file (elementwise.cc, matmul.cc, ...) is compiled once per Highway target through
// foreach_target.h and defines, inside `namespace assay::cpu::HWY_NAMESPACE`, one function per op:
//
//   void Run_NAME(const KernelArgs& args, Context& context);                          for a General op: the whole op, in parallel
//   void Elements_NAME(const KernelArgs& args, std::int64_t begin, std::int64_t end);  for an Elementwise op (see Backend::RunElements)
//
// Outputs are written with canonical NaNs. A function that is missing for a target does not link.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/backend/cpu/digit_units.h"
#include "assay/base/thread_pool.h"
#include "assay/tensor/tensor.h"

namespace assay::cpu {

// What a kernel may use beside its arguments. One per backend; kernels run one at a time.
class Context {
 public:
  Context(ThreadPool& pool, DigitUnit digit_unit);
  ThreadPool& pool() const { return pool_; }
  DigitUnit digit_unit() const { return digit_unit_; }  // what multiplies digits
  // Uninitialised scratch of at least `bytes`, 64-byte aligned, owned by the context and reused by the next kernel. Slot `worker` is
  // private to that worker during a ParallelFor; slot kShared belongs to the calling thread.
  static constexpr int kShared = -1;
  void* Scratch(int worker, std::size_t bytes);
  // Backend::LeaveOutProducts.
  bool leaves_out_products = false;

 private:
  ThreadPool& pool_;
  DigitUnit digit_unit_;
  std::vector<std::unique_ptr<Tensor>> scratch_;
};

using RunFn = void (*)(const KernelArgs& args, Context& context);
using ElementsFn = void (*)(const KernelArgs& args, std::int64_t begin, std::int64_t end);

struct Kernel {  // exactly one of the two is set
  RunFn run = nullptr;
  ElementsFn elements = nullptr;
};

#define ASSAY_KERNEL_Elementwise(name) void Elements_##name(const KernelArgs& args, std::int64_t begin, std::int64_t end);
#define ASSAY_KERNEL_General(name) void Run_##name(const KernelArgs& args, Context& context);
#define ASSAY_OP(name, wire_id, version, kind, results) ASSAY_KERNEL_##kind(name)
#if defined(__x86_64__)
namespace N_AVX2 {
#include "assay/ops/op_table.inc"
}
namespace N_AVX3 {
#include "assay/ops/op_table.inc"
}
#elif defined(__aarch64__)
namespace N_NEON {
#include "assay/ops/op_table.inc"
}
#endif
#undef ASSAY_OP
#undef ASSAY_KERNEL_General
#undef ASSAY_KERNEL_Elementwise

}  // namespace assay::cpu
