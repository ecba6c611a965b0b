#include "assay/net/file_range.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "assay/base/check.h"

namespace assay {

FileRange::FileRange(int descriptor, std::uint64_t offset, std::uint64_t length)
    : descriptor_(new int(descriptor),
                  [](const int* held) {
                    close(*held);
                    delete held;
                  }),
      offset_(offset),
      length_(length) {}

Result<FileRange> FileRange::Open(const std::string& path, std::uint64_t offset, std::uint64_t length) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Err("{}: cannot open: {}", path, std::strerror(errno));
  return FileRange(descriptor, offset, length);
}

bool FileRange::ReadAtOnce(std::uint64_t at, std::uint8_t* into, std::size_t count) const {
  ASSAY_CHECK(at <= length_ && count <= length_ - at);
#ifdef RWF_NOWAIT
  const iovec piece{.iov_base = into, .iov_len = count};
  return preadv2(*descriptor_, &piece, 1, static_cast<off_t>(offset_ + at), RWF_NOWAIT) == static_cast<ssize_t>(count);
#else
  return false;
#endif
}

Status FileRange::Read(std::uint64_t at, std::uint8_t* into, std::size_t count) const {
  ASSAY_CHECK(at <= length_ && count <= length_ - at);
  while (count != 0) {
    const ssize_t got = pread(*descriptor_, into, count, static_cast<off_t>(offset_ + at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Err("cannot read a file that is being sent: {}", std::strerror(errno));
    if (got == 0) return Err("a file that is being sent is too short");
    into += got;
    at += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace assay
