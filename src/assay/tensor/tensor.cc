#include "assay/tensor/tensor.h"

#include <fmt/format.h>

#include "assay/base/check.h"

namespace assay {

std::string ToString(const TensorType& type) { return fmt::format("{}{}", Name(type.dtype), ToString(type.shape)); }

Tensor::Tensor(TensorType type, MemorySpace& space) : type_(type), data_(space, type.bytes()) {
  space.Zero(data_.data(), type_.bytes());
}

Tensor Tensor::CopyTo(MemorySpace& other) const {
  Tensor copy;
  copy.type_ = type_;
  copy.data_ = Allocation(other, type_.bytes());
  if (type_.bytes() == 0) return copy;
  if (&other == &space()) {
    other.CopyInside(copy.data(), data(), type_.bytes());
  } else if (space().is_host()) {
    other.CopyIn(copy.data(), data(), type_.bytes());
  } else {
    ASSAY_CHECK(other.is_host());
    space().CopyOut(copy.data(), data(), type_.bytes());
  }
  return copy;
}

}  // namespace assay
