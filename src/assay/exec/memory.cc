#include "assay/exec/memory.h"

#include <algorithm>

#include "assay/base/check.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace assay::exec {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
// From this size on the kernel is asked for huge pages: fewer faults at the first touch and fewer misses in the page tables.
constexpr std::size_t kHugeThreshold = 8 * kHugePage;

}  // namespace

Memory::Memory(std::size_t bytes) : bytes_(bytes) {
  const std::size_t alignment = bytes >= kHugeThreshold ? kHugePage : kCacheLine;
  const std::size_t rounded = std::max<std::size_t>(1, (bytes + alignment - 1) / alignment) * alignment;
  data_.reset(static_cast<char*>(std::aligned_alloc(alignment, rounded)));
  ASSAY_CHECK(data_ != nullptr);
#if defined(__linux__)
  if (alignment == kHugePage) madvise(data_.get(), rounded, MADV_HUGEPAGE);
#endif
}

}  // namespace assay::exec
