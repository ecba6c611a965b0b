// Tensor: an owned, dense, row-major array, 64-byte aligned, in the host's memory or a device's. Movable, not copyable (Clone and CopyTo copy).
// Not synchronised.
#pragma once

#include <cstdint>
#include <span>

#include "assay/base/bytes.h"
#include "assay/tensor/dtype.h"
#include "assay/tensor/memory_space.h"
#include "assay/tensor/shape.h"

namespace assay {

// What a value is, without its data.
struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;

  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * SizeOf(dtype); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

std::string ToString(const TensorType& type);  // "f32[2, 3]"

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorType type, MemorySpace& space = HostMemory());  // zero-filled
  Tensor(DType dtype, Shape shape) : Tensor(TensorType{dtype, shape}) {}

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  std::int64_t elements() const { return type_.elements(); }

  MemorySpace& space() const { return data_.space(); }
  void* data() { return data_.data(); }
  const void* data() const { return data_.data(); }
  // What follows is for tensors in the host's memory.
  template <class T>
  std::span<T> Span() {
    ASSAY_CHECK(sizeof(T) == SizeOf(type_.dtype) && space().is_host());
    return {static_cast<T*>(data()), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> Span() const {
    ASSAY_CHECK(sizeof(T) == SizeOf(type_.dtype) && space().is_host());
    return {static_cast<const T*>(data()), static_cast<std::size_t>(elements())};
  }
  ByteSpan bytes() const {
    ASSAY_CHECK(space().is_host());
    return {static_cast<const std::uint8_t*>(data()), type_.bytes()};
  }
  std::span<std::uint8_t> mutable_bytes() {
    ASSAY_CHECK(space().is_host());
    return {static_cast<std::uint8_t*>(data()), type_.bytes()};
  }

  Tensor Clone() const { return CopyTo(space()); }
  Tensor CopyTo(MemorySpace& other) const;  // to or from the host's memory, or within one

 private:
  TensorType type_;
  Allocation data_;
};

}  // namespace assay
