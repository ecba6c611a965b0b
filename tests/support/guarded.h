// GuardedBuffer: memory for a kernel's output with guard bytes on both sides, filled with garbage, so that a kernel that writes outside,
// leaves something out, or reads what it should write is caught.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "assay/base/bytes.h"

namespace assay::testkit {

class GuardedBuffer {
 public:
  static constexpr std::size_t kGuard = 256;

  explicit GuardedBuffer(std::size_t bytes, std::uint8_t seed = 0xa5) : bytes_(bytes), memory_(bytes + 2 * kGuard + 64) {
    std::uint32_t state = seed;
    for (std::uint8_t& b : memory_) b = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data()) + kGuard;
    start_ = static_cast<std::size_t>((address + 63) / 64 * 64 - reinterpret_cast<std::uintptr_t>(memory_.data()));
    original_ = memory_;
  }
  GuardedBuffer(GuardedBuffer&&) = default;

  void* data() { return memory_.data() + start_; }
  ByteSpan bytes() const { return {memory_.data() + start_, bytes_}; }
  // Whether everything outside bytes [begin, end) of the buffer is as it was made.
  bool UntouchedOutside(std::size_t begin, std::size_t end) const {
    return std::memcmp(memory_.data(), original_.data(), start_ + begin) == 0 &&
           std::memcmp(memory_.data() + start_ + end, original_.data() + start_ + end, memory_.size() - start_ - end) == 0;
  }
  bool GuardsIntact() const { return UntouchedOutside(0, bytes_); }

 private:
  std::size_t bytes_;
  std::vector<std::uint8_t> memory_;
  std::vector<std::uint8_t> original_;
  std::size_t start_ = 0;
};

}  // namespace assay::testkit
