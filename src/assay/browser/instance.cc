#include "assay/browser/instance.h"

#include <fmt/format.h>
#include <wasi/api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "assay/base/check.h"

namespace assay {
namespace {

char last_words[256];

[[noreturn]] void GiveUp(std::string_view why) {
  const std::size_t n = std::min(why.size(), sizeof last_words - 1);
  std::memcpy(last_words, why.data(), n);
  last_words[n] = 0;
  __builtin_trap();
}

}  // namespace

void CheckFailed(const char* condition, const char* file, int line) {
  char text[256];
  const auto written = fmt::format_to_n(text, sizeof text, "{} is false at {}:{}", condition, file, line);
  GiveUp({text, std::min(written.size, sizeof text)});
}

void* browser::Handed(std::uint32_t word, std::string_view text) {
  const std::uint32_t head[] = {word, static_cast<std::uint32_t>(text.size())};
  auto* out = static_cast<char*>(std::malloc(sizeof head + text.size()));
  ASSAY_CHECK(out != nullptr);
  std::memcpy(out, head, sizeof head);
  std::memcpy(out + sizeof head, text.data(), text.size());
  return out;
}

}  // namespace assay

ASSAY_EXPORT(assay_alloc) void* assay_alloc(std::uint32_t bytes) { return std::malloc(bytes == 0 ? 1 : bytes); }

ASSAY_EXPORT(assay_free) void assay_free(void* data) { std::free(data); }

ASSAY_EXPORT(assay_last_words) const char* assay_last_words() { return assay::last_words; }

// There is no clock and there are no files. A clock is read only to choose between ways to compute hashes, of which there is one here.
extern "C" {
__wasi_errno_t __wrap___wasi_clock_time_get(__wasi_clockid_t, __wasi_timestamp_t, __wasi_timestamp_t* time) {
  *time = 0;
  return __WASI_ERRNO_SUCCESS;
}
__wasi_errno_t __wrap___wasi_fd_close(__wasi_fd_t) { return __WASI_ERRNO_BADF; }
__wasi_errno_t __wrap___wasi_fd_seek(__wasi_fd_t, __wasi_filedelta_t, __wasi_whence_t, __wasi_filesize_t*) {
  return __WASI_ERRNO_BADF;
}
__wasi_errno_t __wrap___wasi_fd_write(__wasi_fd_t, const __wasi_ciovec_t*, std::size_t, __wasi_size_t*) {
  return __WASI_ERRNO_BADF;
}
}

// What the C++ library does when it gives up would print to a file that is not there.
void* operator new(std::size_t bytes) {
  void* data = std::malloc(bytes == 0 ? 1 : bytes);
  if (data == nullptr) assay::GiveUp("out of memory: a module has 256 MB");
  return data;
}

_LIBCPP_BEGIN_NAMESPACE_STD
void __libcpp_verbose_abort(const char* format, ...) { assay::GiveUp(format); }
_LIBCPP_END_NAMESPACE_STD
