// GuardedBuffer: memory of a backend for a kernel's output with guard bytes on both sides, filled with garbage, so that a kernel that writes
// outside, leaves something out, or reads what it should write is caught.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/tensor/memory_space.h"

namespace assay::testkit {

class GuardedBuffer {
 public:
  static constexpr std::size_t kGuard = 256;

  explicit GuardedBuffer(std::size_t bytes, std::uint8_t seed = 0xa5, MemorySpace& space = HostMemory())
      : bytes_(bytes), original_(kGuard + bytes + kGuard), memory_(space, original_.size()) {
    std::uint32_t state = seed;
    for (std::uint8_t& b : original_) b = static_cast<std::uint8_t>((state = state * 1664525u + 1013904223u) >> 24);
    space.CopyIn(memory_.data(), original_.data(), original_.size());
  }

  void* data() const { return static_cast<std::uint8_t*>(memory_.data()) + kGuard; }
  // The content, without the guards.
  Bytes Content() const {
    const Bytes all = All();
    return {all.begin() + kGuard, all.begin() + static_cast<std::ptrdiff_t>(kGuard + bytes_)};
  }
  // Whether everything outside bytes [begin, end) of the buffer is as it was made.
  bool UntouchedOutside(std::size_t begin, std::size_t end) const {
    const Bytes all = All();
    const std::size_t rest = kGuard + end;
    return std::memcmp(all.data(), original_.data(), kGuard + begin) == 0 &&
           std::memcmp(all.data() + rest, original_.data() + rest, all.size() - rest) == 0;
  }
  bool GuardsIntact() const { return UntouchedOutside(0, bytes_); }

 private:
  Bytes All() const {
    Bytes all(original_.size());
    memory_.space().CopyOut(all.data(), memory_.data(), all.size());
    return all;
  }

  std::size_t bytes_;
  std::vector<std::uint8_t> original_;
  Allocation memory_;
};

}  // namespace assay::testkit
