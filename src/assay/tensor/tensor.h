// Tensor: an owned, dense, row-major array, 64-byte aligned. Movable, not copyable (Clone copies). Not synchronised.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "assay/base/bytes.h"
#include "assay/tensor/dtype.h"
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
  static constexpr std::size_t kAlignment = 64;

  Tensor() = default;
  explicit Tensor(TensorType type);  // zero-filled
  Tensor(DType dtype, Shape shape) : Tensor(TensorType{dtype, shape}) {}

  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  std::int64_t elements() const { return type_.elements(); }

  void* data() { return data_.get(); }
  const void* data() const { return data_.get(); }
  template <class T>
  std::span<T> Span() {
    ASSAY_CHECK(sizeof(T) == SizeOf(type_.dtype));
    return {static_cast<T*>(data()), static_cast<std::size_t>(elements())};
  }
  template <class T>
  std::span<const T> Span() const {
    ASSAY_CHECK(sizeof(T) == SizeOf(type_.dtype));
    return {static_cast<const T*>(data()), static_cast<std::size_t>(elements())};
  }
  ByteSpan bytes() const { return {static_cast<const std::uint8_t*>(data()), type_.bytes()}; }
  std::span<std::uint8_t> mutable_bytes() { return {static_cast<std::uint8_t*>(data()), type_.bytes()}; }
  Tensor Clone() const;

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  TensorType type_;
  std::unique_ptr<void, Free> data_;
};

}  // namespace assay
