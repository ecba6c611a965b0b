// A tensor's extents: at most eight dimensions, each >= 0. A value type; the empty shape is a scalar of one element.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "assay/base/check.h"

namespace assay {

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const std::int64_t> dims) {
    ASSAY_CHECK(dims.size() <= kMaxRank);
    for (std::int64_t d : dims) Append(d);
  }

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return dims_[static_cast<std::size_t>(axis)]; }
  // Counts from the end: Back(0) is the last extent.
  std::int64_t Back(int axis) const { return (*this)[rank_ - 1 - axis]; }
  void Append(std::int64_t extent) {
    ASSAY_CHECK(rank_ < kMaxRank && extent >= 0);
    dims_[static_cast<std::size_t>(rank_++)] = extent;
  }
  void Set(int axis, std::int64_t extent) { dims_[static_cast<std::size_t>(axis)] = extent; }

  std::int64_t elements() const { return Product(0, rank_); }
  // The product of the extents of axes [begin, end).
  std::int64_t Product(int begin, int end) const {
    std::int64_t n = 1;
    for (int axis = begin; axis < end; ++axis) n *= (*this)[axis];
    return n;
  }
  std::span<const std::int64_t> dims() const { return {dims_.data(), static_cast<std::size_t>(rank_)}; }

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int axis = 0; axis < a.rank_; ++axis) {
      if (a[axis] != b[axis]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

std::string ToString(const Shape& shape);  // "[2, 3]"

}  // namespace assay
