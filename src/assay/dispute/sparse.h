// SparseTensor: the address space of a whole tensor of which only a few 4 KiB leaves are there, so that a reference kernel can run on proven pieces of
// tensors that are larger than the machine. What is not there reads as zero and takes no memory. Movable; not synchronised.
#pragma once

#include <cstdint>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/tensor/tensor.h"

namespace assay::dispute {

class SparseTensor {
 public:
  static Result<SparseTensor> Make(const TensorType& type);
  SparseTensor(SparseTensor&& other) noexcept;
  SparseTensor& operator=(SparseTensor&& other) noexcept;
  ~SparseTensor();

  // Leaf `index`, whose size is that of the tensor's leaf there.
  void Put(std::uint64_t index, ByteSpan leaf);
  void* data() { return data_; }
  const void* data() const { return data_; }

 private:
  SparseTensor(void* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace assay::dispute
