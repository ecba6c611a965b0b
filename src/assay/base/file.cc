#include "assay/base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace assay {
namespace {

constexpr std::string_view kTemporarySuffix = ".assay-tmp";

// The text of the current errno, in the words of the C library.
std::string Reason() { return std::generic_category().message(errno); }

// An error about a file that could not be read. That it is not there, or not a file, says something about it; all else about this
// machine.
tl::unexpected<Error> CannotRead(const std::string& path, std::string_view doing) {
  const bool system = errno != ENOENT && errno != ENOTDIR && errno != EISDIR && errno != ELOOP && errno != ENAMETOOLONG &&
                      errno != ENXIO;  // a socket
  return tl::unexpected<Error>(Error{fmt::format("{}: cannot {}: {}", path, doing, Reason()), system});
}

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }
  int get() const { return value_; }
  bool Close() {
    const int value = std::exchange(value_, -1);
    return value < 0 || ::close(value) == 0;
  }

 private:
  int value_;
};

// The size of the plain file behind the descriptor.
Result<std::uint64_t> PlainSize(int descriptor, const std::string& path) {
  struct stat info{};
  if (::fstat(descriptor, &info) != 0) return CannotRead(path, "read");
  if (S_ISDIR(info.st_mode)) return Err("{}: is a directory, expected a file", path);
  if (!S_ISREG(info.st_mode)) return Err("{}: is not a plain file", path);
  return static_cast<std::uint64_t>(info.st_size);
}

std::string ParentOf(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status WriteAll(int descriptor, ByteSpan bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (written < 0) {
      if (errno == EINTR) continue;
      return Err("{}: cannot write: {}", path, Reason());
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

// A file beside `path` that did not exist before.
Result<int> CreateTemporary(const std::string& path, unsigned mode, std::string& temporary) {
  static std::atomic<std::uint64_t> counter{0};
  const std::size_t slash = path.find_last_of('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  for (;;) {
    temporary = fmt::format("{}.{}.{}-{}{}", path.substr(0, name), path.substr(name), ::getpid(), counter++, kTemporarySuffix);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST) return Err("{}: cannot create: {}", path, Reason());
  }
}

// Gives the temporary its name unless something has it already. Not every file system knows such a rename; a second name and the
// removal of the first do the same, but for what a crash in between leaves.
bool RenameNew(const std::string& temporary, const std::string& path) {
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  return ::link(temporary.c_str(), path.c_str()) == 0 && ::unlink(temporary.c_str()) == 0;
}

Status FillAndRename(Descriptor& file, const std::string& temporary, const std::string& path, const FileBody& body,
                     bool replace) {
  FileSink sink(file.get(), path);
  ASSAY_TRY(body(sink));
  if (::fsync(file.get()) != 0) return Err("{}: cannot sync: {}", path, Reason());
  if (!file.Close()) return Err("{}: cannot close: {}", path, Reason());
  if (replace ? ::rename(temporary.c_str(), path.c_str()) == 0 : RenameNew(temporary, path)) return {};
  if (!replace && errno == EEXIST) return Err("{}: exists already and is not overwritten", path);
  return Err("{}: cannot rename into place: {}", path, Reason());
}

// Calls `on_directory` with the path of every directory from `path` down, and `on_file` with that of everything else, relative and
// behind `prefix`.
Status VisitTree(const std::string& path, const std::string& prefix,
                 const std::function<Status(const std::string&)>& on_directory,
                 const std::function<void(const std::string&)>& on_file) {
  ASSAY_TRY(on_directory(path));
  ASSAY_ASSIGN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    const std::string inner = JoinPath(path, name);
    struct stat info{};
    if (::lstat(inner.c_str(), &info) != 0) {
      if (errno == ENOENT) continue;  // somebody removed it since
      return Err("{}: cannot read: {}", inner, Reason());
    }
    if (S_ISDIR(info.st_mode)) {
      ASSAY_TRY(VisitTree(inner, prefix + name + "/", on_directory, on_file));
    } else {
      on_file(prefix + name);
    }
  }
  return {};
}

// The rest of the plain file that was opened.
Result<Bytes> ReadAll(int descriptor, const std::string& path, std::uint64_t max_bytes) {
  ASSAY_ASSIGN(const std::uint64_t size, PlainSize(descriptor, path));
  if (size > max_bytes) return Err("{}: has {} bytes, expected at most {}", path, size, max_bytes);
  Bytes bytes(size);
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(descriptor, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path, "read");
    if (got == 0) return Err("{}: became shorter while it was read", path);
    filled += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

Result<Bytes> ReadFile(const std::string& path, std::uint64_t max_bytes) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return CannotRead(path, "open");
  return ReadAll(file.get(), path, max_bytes);
}

Result<Bytes> ReadFilePart(const std::string& path, std::uint64_t begin, std::uint64_t size) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return CannotRead(path, "open");
  ASSAY_ASSIGN(const std::uint64_t whole, PlainSize(file.get(), path));
  if (begin > whole || size > whole - begin) {
    return Err("{}: has {} bytes, expected {} from {} on", path, whole, size, begin);
  }
  Bytes bytes(size);
  for (std::uint64_t done = 0; done < size;) {
    const ssize_t got = ::pread(file.get(), bytes.data() + done, size - done, static_cast<off_t>(begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path, "read");
    if (got == 0) return Err("{}: is being truncated", path);
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

Result<std::uint64_t> ReadThrough(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return CannotRead(path, "open");
  ASSAY_ASSIGN(const std::uint64_t expected, PlainSize(file.get(), path));
  Bytes buffer(std::min<std::uint64_t>(expected + 1, std::uint64_t{1} << 18));
  std::uint64_t at = 0;
  for (;;) {
    // Holes are skipped: terabytes of nothing cost nobody an hour.
    const off_t data = ::lseek(file.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return PlainSize(file.get(), path);  // nothing but a hole is left
    if (data >= 0) at = static_cast<std::uint64_t>(data);                // otherwise the file system does not tell
    const ssize_t got = ::pread(file.get(), buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return CannotRead(path, "read");
    if (got == 0) return at;
    at += static_cast<std::uint64_t>(got);
  }
}

Result<Bytes> ReadPrivateFile(const std::string& path, std::uint64_t max_bytes) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return CannotRead(path, "open");
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return Err("{}: cannot read: {}", path, Reason());
  if (S_ISREG(info.st_mode) && (info.st_mode & 077) != 0) {
    return Err("{}: others may read it (mode {:04o}), expected mode 0600; run chmod 600 on it", path, info.st_mode & 07777);
  }
  return ReadAll(file.get(), path, max_bytes);
}

Status SyncDirectory(const std::string& path) {
  Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return Err("{}: cannot open directory: {}", path, Reason());
  // Some file systems cannot sync a directory and say so; their renames are as durable as they get.
  if (::fsync(directory.get()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    return Err("{}: cannot sync directory: {}", path, Reason());
  }
  return {};
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return CannotRead(path, "open");
  ASSAY_ASSIGN(const std::uint64_t size, PlainSize(file.get(), path));
  MappedFile map;
  if (size == 0) return map;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (data == MAP_FAILED) return CannotRead(path, "map");
  map.data_ = static_cast<const std::uint8_t*>(data);
  map.size_ = size;
  return map;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::uint8_t*>(data_), size_);
}

Status FileSink::Write(ByteSpan bytes) { return WriteAll(descriptor_, bytes, path_); }

Status WriteFileAtomic(const std::string& path, const FileBody& body, const WriteOptions& options) {
  std::string temporary;
  ASSAY_ASSIGN(const int descriptor, CreateTemporary(path, options.mode, temporary));
  Descriptor file(descriptor);
  Status filled = FillAndRename(file, temporary, path, body, options.replace);
  if (!filled) {
    ::unlink(temporary.c_str());
    return filled;
  }
  return SyncDirectory(ParentOf(path));
}

Status WriteFileAtomic(const std::string& path, ByteSpan bytes, const WriteOptions& options) {
  return WriteFileAtomic(path, [&](FileSink& sink) { return sink.Write(bytes); }, options);
}

Status WriteIfDifferent(const std::string& path, ByteSpan bytes) {
  if (Exists(path)) {
    const auto old = ReadFile(path, bytes.size());
    if (old && std::equal(old->begin(), old->end(), bytes.begin(), bytes.end())) return {};
  }
  return WriteFileAtomic(path, bytes);
}

bool IsTemporaryName(std::string_view name) { return name.starts_with('.') && name.ends_with(kTemporarySuffix); }

Result<AppendFile> AppendFile::Open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return Err("{}: cannot open for appending: {}", path, Reason());
  return AppendFile(descriptor, path);
}

AppendFile::~AppendFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status AppendFile::Append(ByteSpan bytes) { return WriteAll(descriptor_, bytes, path_); }

Status AppendFile::Sync() {
  if (::fsync(descriptor_) != 0) return Err("{}: cannot sync: {}", path_, Reason());
  return {};
}

Result<std::optional<FileLock>> FileLock::TryAcquire(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return Err("{}: cannot create: {}", path, Reason());
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return std::nullopt;
  return Err("{}: cannot lock: {}", path, Reason());
}

Result<std::optional<FileLock>> FileLock::TryShare(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return Err("{}: cannot open: {}", path, Reason());
  FileLock lock(descriptor);
  if (::flock(descriptor, LOCK_SH | LOCK_NB) == 0) return lock;
  if (errno == EWOULDBLOCK) return std::nullopt;
  return Err("{}: cannot lock: {}", path, Reason());
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status MakeDirectories(const std::string& path) {
  if (IsDirectory(path)) return {};
  if (Exists(path)) return Err("{}: is not a directory", path);
  const std::string parent = ParentOf(path);
  if (parent != path) ASSAY_TRY(MakeDirectories(parent));
  if (::mkdir(path.c_str(), 0777) != 0) {
    if (errno == EEXIST && IsDirectory(path)) return {};
    return Err("{}: cannot create directory: {}", path, Reason());
  }
  return SyncDirectory(parent);
}

Result<std::vector<std::string>> ListDirectory(const std::string& path) {
  DIR* directory = ::opendir(path.c_str());
  if (directory == nullptr) return CannotRead(path, "list directory");
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
    errno = 0;
  }
  const int failure = errno;
  ::closedir(directory);
  if (failure != 0) return Err("{}: cannot list directory: {}", path, std::generic_category().message(failure));
  std::sort(names.begin(), names.end());
  return names;
}

Status CheckPlainTree(const std::string& path) {
  Status plain;
  ASSAY_TRY(VisitTree(
      path, "", [](const std::string&) { return Status(); },
      [&](const std::string& file) {
        struct stat info{};
        const std::string inner = JoinPath(path, file);
        if (plain && (::lstat(inner.c_str(), &info) != 0 || !S_ISREG(info.st_mode))) {
          plain = Err("{}: is a link or a special file, expected plain files and directories only", inner);
        }
      }));
  return plain;
}

Result<std::vector<std::string>> ListTree(const std::string& path) {
  std::vector<std::string> files;
  ASSAY_TRY(VisitTree(
      path, "", [](const std::string&) { return Status(); }, [&](const std::string& file) { files.push_back(file); }));
  std::sort(files.begin(), files.end());
  return files;
}

Status RemoveFile(const std::string& path) {
  if (::unlink(path.c_str()) != 0) return Err("{}: cannot remove: {}", path, Reason());
  return {};
}

Status RemoveFileDurably(const std::string& path) {
  ASSAY_TRY(RemoveFile(path));
  return SyncDirectory(ParentOf(path));
}

Status RenameDurably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) return Err("{}: cannot rename to {}: {}", from, to, Reason());
  return SyncDirectory(ParentOf(to));
}

Status TruncateDurably(const std::string& path, std::uint64_t size) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return Err("{}: cannot open for writing: {}", path, Reason());
  if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) return Err("{}: cannot truncate: {}", path, Reason());
  if (::fsync(file.get()) != 0) return Err("{}: cannot sync: {}", path, Reason());
  return {};
}

Status SyncTree(const std::string& path) {
  const std::string parent = ParentOf(path);
  if (::access(parent.c_str(), R_OK) == 0) ASSAY_TRY(SyncDirectory(parent));
  return VisitTree(path, "", SyncDirectory, [](const std::string&) {});
}

bool Exists(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0;
}

bool IsTaken(const std::string& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

bool IsDirectory(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool IsPlainFile(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  if (directory.empty() || directory.ends_with('/')) return fmt::format("{}{}", directory, name);
  return fmt::format("{}/{}", directory, name);
}

}  // namespace assay
