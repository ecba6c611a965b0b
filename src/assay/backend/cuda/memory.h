// The memory of the GPU as a MemorySpace. Work is ordered by one stream.
#pragma once

#include <cuda_runtime_api.h>

#include "assay/tensor/memory_space.h"

namespace assay::cuda {

// Memory of the GPU, aligned to 256 bytes. Allocate throws OutOfMemory; Release waits for the kernels that use the memory.
void* Allocate(std::size_t bytes);
void Release(void* data) noexcept;
// The most bytes that this process had allocated at one time, by whatever backend.
std::size_t PeakBytes();

class DeviceMemory final : public MemorySpace {
 public:
  explicit DeviceMemory(cudaStream_t stream) : stream_(stream) {}
  bool is_host() const override { return false; }
  void* Allocate(std::size_t bytes) override;
  void Free(void* data) noexcept override;
  void Zero(void* data, std::size_t bytes) override;
  void CopyIn(void* to, const void* from_host, std::size_t bytes) override;
  void CopyOut(void* to_host, const void* from, std::size_t bytes) override;
  void CopyInside(void* to, const void* from, std::size_t bytes) override;  // the pieces do not overlap

 private:
  cudaStream_t stream_;
};

}  // namespace assay::cuda
