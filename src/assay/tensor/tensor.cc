#include "assay/tensor/tensor.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace assay {

std::string ToString(const TensorType& type) { return fmt::format("{}{}", Name(type.dtype), ToString(type.shape)); }

// Large tensors ask for huge pages: kernels walk over them with large strides, which would otherwise miss the TLB at every step.
Tensor::Tensor(TensorType type) : type_(type) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t alignment = type_.bytes() >= 2 * kHugePage ? kHugePage : kAlignment;
  const std::size_t size = std::max<std::size_t>(1, (type_.bytes() + alignment - 1) / alignment) * alignment;
  data_.reset(std::aligned_alloc(alignment, size));
  if (data_ == nullptr) throw std::bad_alloc();  // as containers do; whoever asked for so much reports it
#ifdef MADV_HUGEPAGE
  if (alignment == kHugePage) madvise(data_.get(), size, MADV_HUGEPAGE);  // a hint: failure changes nothing but speed
#endif
  std::memset(data_.get(), 0, type_.bytes());
}

Tensor Tensor::Clone() const {
  Tensor copy(type_);
  if (type_.bytes() != 0) std::memcpy(copy.data(), data(), type_.bytes());
  return copy;
}

}  // namespace assay
