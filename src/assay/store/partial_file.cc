#include "assay/store/partial_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

namespace assay::store {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::uint64_t kWriteBehindBytes = 8 << 20;
// At a time: for a longer write the kernel takes larger pieces of memory, which it has not used of late, and spends several times as long on copying into them.
constexpr std::size_t kWriteBytes = 64 << 10;

tl::unexpected<Error> Failed(const std::string& path, std::string_view doing) {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  return tl::unexpected(
      Error{fmt::format("{}: cannot {}: {}", path, doing, full ? "the disk is full" : std::generic_category().message(number)),
            true});
}

FileId IdOf(const struct stat& info) {
  return {static_cast<std::uint64_t>(info.st_dev), static_cast<std::uint64_t>(info.st_ino)};
}

// Calls `piece` with the bytes [begin, end), bit by bit.
template <class Piece>
Status ReadPieces(int descriptor, const std::string& path, std::uint64_t begin, std::uint64_t end, const Piece& piece) {
  std::vector<std::uint8_t> buffer(std::min<std::uint64_t>(kPieceBytes, end - begin));
  while (begin < end) {
    const ssize_t got =
        ::pread(descriptor, buffer.data(), std::min<std::uint64_t>(buffer.size(), end - begin), static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(path, "read");
    if (got == 0) return Err("{}: ends after {} bytes, expected {}", path, begin, end);
    ASSAY_TRY(piece(begin, ByteSpan(buffer.data(), static_cast<std::size_t>(got))));
    begin += static_cast<std::uint64_t>(got);
  }
  return {};
}

bool Lock(int descriptor, bool wait) {
  while (::flock(descriptor, wait ? LOCK_EX : LOCK_EX | LOCK_NB) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace

std::optional<FileId> FileIdAt(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return IdOf(info);
}

Result<std::optional<PartialFile>> PartialFile::Open(const std::string& path, Mode mode) {
  for (;;) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | (mode == Mode::kCreate ? O_CREAT : 0), 0600));
    if (!file.open() && errno == ENOENT && mode != Mode::kCreate) return std::nullopt;
    if (!file.open()) return Failed(path, "open");
    if (!Lock(file.get(), mode != Mode::kExistingUnlessHeld)) {
      if (errno == EWOULDBLOCK) return std::nullopt;
      return Failed(path, "lock");
    }
    struct stat info{};
    if (::fstat(file.get(), &info) != 0) return Failed(path, "read");
    // Whoever had it before may have removed it or given it another name.
    if (FileIdAt(path) != IdOf(info)) continue;
    PartialFile opened(std::move(file), path);
    opened.id_ = IdOf(info);
    opened.size_ = static_cast<std::uint64_t>(info.st_size);
    opened.modified_ms_ = std::int64_t{info.st_mtim.tv_sec} * 1000 + info.st_mtim.tv_nsec / 1'000'000;
    return opened;
  }
}

Descriptor PartialFile::Reopen() const { return Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW)); }

Status PartialFile::Compare(std::uint64_t offset, ByteSpan bytes) const {
  return ReadPieces(file_.get(), path_, offset, offset + bytes.size(), [&](std::uint64_t at, ByteSpan piece) -> Status {
    const ByteSpan sent = bytes.subspan(at - offset, piece.size());
    if (std::equal(piece.begin(), piece.end(), sent.begin())) return {};
    return Err("bytes from {} on differ from those that were sent before", at);
  });
}

Status PartialFile::Append(ByteSpan bytes) {
  const std::uint64_t before = size_;
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(file_.get(), bytes.data(), std::min(bytes.size(), kWriteBytes), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      Status failed = Failed(path_, "write");
      size_ = before;
      if (::ftruncate(file_.get(), static_cast<off_t>(before)) != 0) return Failed(path_, "truncate");
      return failed;
    }
    size_ += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  // The disk begins with what is there, so that the last sync has little left to wait for. Nothing depends on it.
  const std::uint64_t begin = before / kWriteBehindBytes * kWriteBehindBytes;
  const std::uint64_t end = size_ / kWriteBehindBytes * kWriteBehindBytes;
  if (end > begin)
    ::sync_file_range(file_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin), SYNC_FILE_RANGE_WRITE);
  return {};
}

Status PartialFile::HashFrom(std::uint64_t offset, Sha256& hash) const {
  return ReadPieces(file_.get(), path_, offset, size_, [&](std::uint64_t, ByteSpan piece) -> Status {
    hash.Update(piece);
    return {};
  });
}

Status PartialFile::SetModified(std::int64_t wall_ms) {
  const timespec at{wall_ms / 1000, wall_ms % 1000 * 1'000'000};
  const timespec times[2] = {at, at};
  if (::futimens(file_.get(), times) != 0) return Failed(path_, "set the time");
  return {};
}

Status PartialFile::Sync() {
  if (::fsync(file_.get()) != 0) return Failed(path_, "sync");
  return {};
}

Status PartialFile::Remove() {
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return Failed(path_, "remove");
  return {};
}

}  // namespace assay::store
