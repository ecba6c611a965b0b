#include "assay/exec/pack.h"

#include <algorithm>
#include <map>
#include <vector>

namespace assay::exec {
namespace {

std::size_t Rounded(std::size_t bytes) {
  return std::max<std::size_t>(1, (bytes + kBufferAlignment - 1) / kBufferAlignment) * kBufferAlignment;
}

// Gives each buffer, in the given order, the tightest gap among those placed before it that share a moment with it.
std::size_t PlaceInOrder(std::span<Buffer> buffers, std::span<const std::size_t> order) {
  std::vector<std::size_t> placed;  // by ascending offset
  std::size_t total = 0;
  for (const std::size_t index : order) {
    Buffer& buffer = buffers[index];
    const std::size_t bytes = Rounded(buffer.bytes);
    std::size_t cursor = 0;
    std::size_t best_offset = 0;
    std::size_t best_gap = SIZE_MAX;
    for (const std::size_t other_index : placed) {
      const Buffer& other = buffers[other_index];
      if (other.end < buffer.begin || buffer.end < other.begin) continue;
      if (other.offset > cursor) {
        const std::size_t gap = other.offset - cursor;
        if (gap >= bytes && gap < best_gap) {
          best_gap = gap;
          best_offset = cursor;
        }
      }
      cursor = std::max(cursor, other.offset + Rounded(other.bytes));
    }
    buffer.offset = best_gap == SIZE_MAX ? cursor : best_offset;
    total = std::max(total, buffer.offset + bytes);
    const auto at = std::upper_bound(placed.begin(), placed.end(), buffer.offset,
                                     [&](std::size_t offset, std::size_t i) { return offset < buffers[i].offset; });
    placed.insert(at, index);
  }
  return total;
}

}  // namespace

std::size_t Pack(std::span<Buffer> buffers) {
  // Neither order is better on every graph; both are cheap. Ties go by index, so that the result is always the same.
  std::vector<std::size_t> by_size(buffers.size());
  for (std::size_t i = 0; i < by_size.size(); ++i) by_size[i] = i;
  std::vector<std::size_t> by_lifetime = by_size;
  std::sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes != buffers[b].bytes ? buffers[a].bytes > buffers[b].bytes : a < b;
  });
  std::sort(by_lifetime.begin(), by_lifetime.end(), [&](std::size_t a, std::size_t b) {
    const int length_a = buffers[a].end - buffers[a].begin;
    const int length_b = buffers[b].end - buffers[b].begin;
    return length_a != length_b ? length_a > length_b : a < b;
  });
  const std::size_t with_size = PlaceInOrder(buffers, by_size);
  if (with_size == PackLowerBound(buffers)) return with_size;
  std::vector<Buffer> other(buffers.begin(), buffers.end());
  const std::size_t with_lifetime = PlaceInOrder(other, by_lifetime);
  if (with_size <= with_lifetime) return with_size;
  std::copy(other.begin(), other.end(), buffers.begin());
  return with_lifetime;
}

std::size_t PackLowerBound(std::span<const Buffer> buffers) {
  std::map<int, std::ptrdiff_t> change;
  for (const Buffer& buffer : buffers) {
    change[buffer.begin] += static_cast<std::ptrdiff_t>(Rounded(buffer.bytes));
    change[buffer.end + 1] -= static_cast<std::ptrdiff_t>(Rounded(buffer.bytes));
  }
  std::ptrdiff_t alive = 0;
  std::ptrdiff_t most = 0;
  for (const auto& [moment, delta] : change) most = std::max(most, alive += delta);
  return static_cast<std::size_t>(most);
}

}  // namespace assay::exec
