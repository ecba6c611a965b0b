// Descriptor: owns an open file and closes it at the end. Movable.
#pragma once

#include <unistd.h>

#include <utility>

namespace assay::store {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }
  bool open() const { return value_ >= 0; }

 private:
  int value_ = -1;
};

}  // namespace assay::store
