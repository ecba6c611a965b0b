#include "assay/base/file_parts.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "assay/base/file.h"

namespace assay {
namespace {

std::string Reason() { return std::generic_category().message(errno); }

std::string FolderOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

Status WriteAll(int descriptor, std::uint64_t begin, ByteSpan bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Err("{}: cannot write: {}", path, Reason());
    begin += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fsync(descriptor) != 0) return Err("{}: cannot sync: {}", path, Reason());
  return {};
}

}  // namespace

Result<FileFacts> FactsOf(const std::string& path, bool follow_links) {
  struct stat info{};
  const int failed = follow_links ? ::stat(path.c_str(), &info) : ::lstat(path.c_str(), &info);
  if (failed != 0) return Err("{}: cannot open: {}", path, Reason());
  using Kind = FileFacts::Kind;
  const Kind kind = S_ISREG(info.st_mode)   ? Kind::kPlain
                    : S_ISDIR(info.st_mode) ? Kind::kDirectory
                    : S_ISLNK(info.st_mode) ? Kind::kLink
                                            : Kind::kOther;
  return FileFacts{.kind = kind,
                   .bytes = static_cast<std::uint64_t>(info.st_size),
                   .changed_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec};
}

Status OverwriteDurably(const std::string& path, std::uint64_t begin, ByteSpan bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return Err("{}: cannot open for writing: {}", path, Reason());
  const Status written = WriteAll(descriptor, begin, bytes, path);
  if (::close(descriptor) != 0 && written) return Err("{}: cannot close: {}", path, Reason());
  return written;
}

Status RenameAsNew(const std::string& from, const std::string& to) {
  // Not every file system knows such a rename; a second name and the removal of the first do the same.
  const auto renamed = [&] {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
    if (errno != EINVAL && errno != ENOSYS) return false;
    return ::link(from.c_str(), to.c_str()) == 0 && ::unlink(from.c_str()) == 0;
  };
  if (!renamed()) {
    if (errno == EEXIST) return Err("{}: exists already and is not overwritten", to);
    return Err("{}: cannot rename into place: {}", to, Reason());
  }
  ASSAY_TRY(SyncDirectory(FolderOf(to)));
  return SyncDirectory(FolderOf(from));
}

Status RemoveEmptyFolder(const std::string& path) {
  if (::rmdir(path.c_str()) != 0) return Err("{}: cannot remove: {}", path, Reason());
  return {};
}

}  // namespace assay
