#include "assay/tensor/memory_space.h"

#include <fmt/format.h>
#ifndef __wasm__
#include <sys/mman.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "assay/base/allowance.h"

namespace assay {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

class Host final : public MemorySpace {
 public:
  bool is_host() const override { return true; }

  // Large pieces ask for huge pages: kernels walk over them with large strides, which would otherwise miss the TLB at every step.
  void* Allocate(std::size_t bytes) override {
    const std::size_t alignment = bytes >= 2 * kHugePage ? kHugePage : kCacheLine;
    const std::size_t size = std::max<std::size_t>(1, (bytes + alignment - 1) / alignment) * alignment;
    void* data = std::aligned_alloc(alignment, size);
    // As containers do; whoever asked for so much reports it.
#ifdef __cpp_exceptions
    if (data == nullptr)
      throw OutOfMemory(fmt::format("out of memory: {} more are needed", Amount(static_cast<std::int64_t>(size))));
#else
    if (data == nullptr) std::abort();
#endif
#ifdef MADV_HUGEPAGE
    if (alignment == kHugePage) madvise(data, size, MADV_HUGEPAGE);  // a hint: failure changes nothing but speed
#endif
    return data;
  }
  void Free(void* data) noexcept override { std::free(data); }
  void Zero(void* data, std::size_t bytes) override { std::memset(data, 0, bytes); }
  void CopyIn(void* to, const void* from, std::size_t bytes) override { Copy(to, from, bytes); }
  void CopyOut(void* to, const void* from, std::size_t bytes) override { Copy(to, from, bytes); }
  void CopyInside(void* to, const void* from, std::size_t bytes) override { Copy(to, from, bytes); }

 private:
  static void Copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0 && to != from) std::memmove(to, from, bytes);
  }
};

}  // namespace

MemorySpace& HostMemory() {
  static Host host;
  return host;
}

}  // namespace assay
