// The kernels of the CUDA backend. Each family file (matmul.cu, softmax.cu, ...) defines one launcher for each of its ops:
//
//   void Run_NAME(const KernelArgs& args, Context& context);     for a General op: enqueues the whole op
//
// Elementwise ops run as groups (elementwise.cu), a single one as a group of one. A launcher only enqueues work on context.stream(): it never
// waits, copies to the host or looks at the operands' values, so that a whole step can be recorded as a CUDA graph. Operands are device
// pointers, aligned to 64 bytes at least. Outputs are written with canonical NaNs. A launcher that is missing does not link.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "assay/backend/backend.h"

namespace assay::cuda {

// What multiplies digits. All give the same bytes.
enum class DigitUnit : std::uint8_t {
  kBest,     // for the device
  kPlain,    // four products at a time, on any device
  kMmaInt8,  // tensor cores of capability 8.0 and newer, for 8-bit integers
  kMmaBf16,  // the same for bf16
};

// What varies between machines and must not vary the bits. Tests force unusual values; 0 leaves the choice to the launcher.
struct Tuning {
  int threads = 0;                // of a block, a multiple of 32, in kernels that can take any
  int gemm_tile = 0;              // 1 + index into the tiles of gemm.h
  int gemm_split = 0;             // slices of K, each a whole number of the contract's blocks
  std::int64_t gemm_waiting = 0;  // elements of sums of slices that may wait in memory
  DigitUnit digit_unit = DigitUnit::kBest;
};

// What a launcher may use beside its arguments. One per backend; launchers run one at a time.
class Context {
 public:
  Context(cudaStream_t stream, const cudaDeviceProp& device, const Tuning& tuning);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  cudaStream_t stream() const { return stream_; }
  int multiprocessors() const { return multiprocessors_; }
  std::size_t max_shared_bytes() const { return max_shared_bytes_; }  // of one block, when a kernel asks for them
  const Tuning& tuning() const { return tuning_; }

  // Device memory of at least `bytes`, 256-byte aligned, of undefined content, for the kernels of the calling launcher. One call
  // for each launcher. Throws OutOfMemory.
  void* Scratch(std::size_t bytes);
  // Backend::LeaveOutProducts.
  bool leaves_out_products = false;

 private:
  cudaStream_t stream_;
  int multiprocessors_;
  std::size_t max_shared_bytes_;
  Tuning tuning_;
  void* scratch_ = nullptr;
  std::size_t scratch_bytes_ = 0;
  bool in_recording_ = false;    // whether a recording uses it
  std::vector<void*> recorded_;  // former ones that recordings use
};

// That of a backend made by MakeCudaBackend, for kernels that are not its own.
Context& ContextOf(Backend& backend);

// Throws DeviceError, naming `what`, unless the call succeeded.
void Check(cudaError_t status, const char* what);
// After a launch: throws DeviceError if it was refused.
void CheckLaunch(const char* kernel);

using RunFn = void (*)(const KernelArgs& args, Context& context);

// Enqueues the elementwise nodes of a group as one kernel.
void RunElementGroup(const Group& group, Context& context);

#define ASSAY_KERNEL_Elementwise(name)
#define ASSAY_KERNEL_General(name) void Run_##name(const KernelArgs& args, Context& context);
#define ASSAY_OP(name, wire_id, version, kind, results) ASSAY_KERNEL_##kind(name)
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
#undef ASSAY_KERNEL_General
#undef ASSAY_KERNEL_Elementwise

}  // namespace assay::cuda
