// Cutter: cuts scratch memory into arrays that begin at multiples of 256 bytes. Without memory it only counts. One owner at a time.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

class Cutter {
 public:
  explicit Cutter(void* memory = nullptr) : memory_(static_cast<char*>(memory)) {}

  template <class T>
  T* Take(std::int64_t n) {
    char* at = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += (static_cast<std::size_t>(n) * sizeof(T) + 255) / 256 * 256;
    return reinterpret_cast<T*>(at);
  }
  std::size_t used() const { return used_; }

 private:
  char* memory_;
  std::size_t used_ = 0;
};

}  // namespace assay
