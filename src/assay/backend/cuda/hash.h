// Merkle hashes of tensors in device memory: the same trees as in merkle/tree.h, bit for bit.
//
// Enqueueing launches kernels and nothing else, so that it can be recorded in a CUDA graph. Tensors begin at multiples of 16
// bytes. Digests are in device memory, 32 bytes each, also at multiples of 16 bytes. Failures of the device throw DeviceError
// (kernels.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace assay::cuda {

struct DeviceBytes {
  const void* data = nullptr;
  std::size_t bytes = 0;
};

// The leaf hashes of one tensor, CountLeaves(tensor.bytes) of them, in order.
void EnqueueLeafHashes(const DeviceBytes& tensor, void* out, cudaStream_t stream);

struct ReleaseMemory {
  void operator()(void* memory) const;
};

// Leaves of many tensors, kept as they were when they were added, to be hashed at once: the chain of one leaf's rounds takes as
// long as those of thousands side by side. All calls on one stream.
class LeafStage {
 public:
  explicit LeafStage(std::size_t leaves);  // room for so many

  std::size_t leaves() const { return leaves_; }
  std::size_t room() const { return most_ - leaves_; }
  // Copies the tensor; there must be room for its leaves.
  void Add(const DeviceBytes& tensor, cudaStream_t stream);
  // The hashes of all leaves, in order; then it is empty.
  void EnqueueHashes(void* out, cudaStream_t stream);

 private:
  std::size_t most_, leaves_ = 0;
  std::unique_ptr<void, ReleaseMemory> memory_;  // the leaves, then their lengths
};

// The roots of a fixed list of tensors, whose places are uploaded once. Calls of Enqueue share the memory of the inner nodes, so
// they must not run on several streams at a time.
class RootsHasher {
 public:
  explicit RootsHasher(std::span<const DeviceBytes> tensors);

  // out[i] becomes the root of tensor i.
  void Enqueue(void* out, cudaStream_t stream) const;

 private:
  std::size_t tensors_;
  // Of all tensors together: the leaves, then the roots of subtrees of the level before, and last one root for each tensor.
  std::vector<std::uint64_t> nodes_;
  std::uint64_t kept_nodes_ = 0;                 // all but the last
  std::unique_ptr<void, ReleaseMemory> memory_;  // kept nodes, tensors, the first node of each tensor on each level
};

}  // namespace assay::cuda
