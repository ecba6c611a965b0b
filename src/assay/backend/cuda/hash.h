// Merkle hashes of tensors in device memory: the same trees as assay/merkle/tree.h, bit for bit.
//
// Enqueueing launches kernels and nothing else, so that it can be recorded in a CUDA graph. Digests are in device memory, 32
// bytes each, at multiples of 16 bytes, and so do tensors begin. Failures of the device throw DeviceError (kernels.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::cuda {

struct DeviceBytes {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

// The leaf hashes of one tensor, CountLeaves(tensor.bytes) of them, in order.
void EnqueueLeafHashes(const DeviceBytes& tensor, void* out, cudaStream_t stream);

// The roots of a fixed list of tensors, whose places are uploaded once. Calls of Enqueue share the memory of the inner nodes, so
// they must not run on several streams at a time.
class RootsHasher {
 public:
  explicit RootsHasher(std::span<const DeviceBytes> tensors);
  ~RootsHasher();
  RootsHasher(const RootsHasher&) = delete;
  RootsHasher& operator=(const RootsHasher&) = delete;

  // out[i] becomes the root of tensor i.
  void Enqueue(void* out, cudaStream_t stream) const;

 private:
  std::size_t tensors_;
  std::vector<std::uint64_t> nodes_;  // of all tensors, on each level from the leaves up to the roots
  void* memory_ = nullptr;            // tensors, first nodes, nodes
};

}  // namespace assay::cuda
