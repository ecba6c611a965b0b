// Offsets for buffers that live during known intervals, so that buffers alive at the same time never overlap. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace assay::exec {

inline constexpr std::size_t kBufferAlignment = 64;

struct Buffer {
  std::size_t bytes = 0;
  int begin = 0;  // first and last moment of use, both included
  int end = 0;
  std::size_t offset = 0;  // set by Pack; a multiple of kBufferAlignment
};

// Sets the offsets and returns the size of the arena that holds them all. Deterministic.
std::size_t Pack(std::span<Buffer> buffers);

// The least that any packing needs: the largest sum of sizes alive at one moment.
std::size_t PackLowerBound(std::span<const Buffer> buffers);

}  // namespace assay::exec
