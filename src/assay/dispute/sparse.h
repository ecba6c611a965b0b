// SparseTensor: the address space of a whole tensor of which only a few 4 KiB leaves are there, so that a reference kernel can run on proven pieces of
// tensors that are larger than the machine. What is not there reads as zero and takes no memory. Movable; not synchronised.
//
// A build for WebAssembly has no addresses to spare: it keeps the stretch from the first to the last leaf that will be there, and what lies outside must not be read.
#pragma once

#include <cstdint>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/tensor/tensor.h"

namespace assay::dispute {

class SparseTensor {
 public:
  // Leaves `first` to `last` may be put, if there are any in between.
  static Result<SparseTensor> Make(const TensorType& type, std::uint64_t first, std::uint64_t last);
  SparseTensor(SparseTensor&& other) noexcept;
  SparseTensor& operator=(SparseTensor&& other) noexcept;
  ~SparseTensor();

  // Leaf `index`, whose size is that of the tensor's leaf there.
  void Put(std::uint64_t index, ByteSpan leaf);
  void* data() { return data_; }  // element 0's
  const void* data() const { return data_; }

 private:
  SparseTensor(void* data, std::size_t bytes, void* kept) : data_(data), bytes_(bytes), kept_(kept) {}
  void* data_ = nullptr;
  std::size_t bytes_ = 0;  // of the tensor
  void* kept_ = nullptr;   // what was allocated
};

}  // namespace assay::dispute
