#include "counted_memory.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace assay {
namespace {

std::atomic<std::int64_t> held = 0, peak = 0, at_reset = 0;

void Count(std::int64_t bytes) {
  const std::int64_t now = held.fetch_add(bytes) + bytes;
  std::int64_t most = peak.load();
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
}

}  // namespace

void ResetPeak() {
  at_reset = held.load();
  peak = held.load();
}
std::int64_t PeakBytes() { return peak - at_reset; }

}  // namespace assay

void* operator new(std::size_t size) {
  void* made = std::malloc(size == 0 ? 1 : size);
  if (made == nullptr) throw std::bad_alloc();
  assay::Count(static_cast<std::int64_t>(malloc_usable_size(made)));
  return made;
}

void operator delete(void* made) noexcept {
  if (made != nullptr) assay::Count(-static_cast<std::int64_t>(malloc_usable_size(made)));
  std::free(made);
}

void operator delete(void* made, std::size_t) noexcept { operator delete(made); }
