#include "assay/tensor/tensor.h"

#include <fmt/format.h>

#include <cstring>

namespace assay {

std::string ToString(const TensorType& type) { return fmt::format("{}{}", Name(type.dtype), ToString(type.shape)); }

Tensor::Tensor(TensorType type) : type_(type) {
  const std::size_t size = (type_.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  data_.reset(std::aligned_alloc(kAlignment, size == 0 ? kAlignment : size));
  ASSAY_CHECK(data_ != nullptr);
  std::memset(data_.get(), 0, type_.bytes());
}

Tensor Tensor::Clone() const {
  Tensor copy(type_);
  if (type_.bytes() != 0) std::memcpy(copy.data(), data(), type_.bytes());
  return copy;
}

}  // namespace assay
