// Files: whole reads, read-only maps, and writes that are either complete or absent.
//
// Every error names the path and what the system said. WriteFileAtomic leaves the old file or the new one, never a part of
// either, also across a crash: it writes a temporary file beside the target, syncs it, renames it over the target and syncs the
// directory. All functions are thread safe; a MappedFile may be read by any number of threads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay {

// The whole file; an error when it is larger than `max_bytes` or is not a plain file.
Result<Bytes> ReadFile(const std::string& path, std::uint64_t max_bytes);
// Bytes [begin, begin + size) of a plain file; an error when it ends before.
Result<Bytes> ReadFilePart(const std::string& path, std::uint64_t begin, std::uint64_t size);
// Reads the whole plain file and keeps nothing of it: its size, or an error where it cannot be read to its end.
Result<std::uint64_t> ReadThrough(const std::string& path);
// ReadFile for secrets: an error also when anyone but the owner may read or write the file.
Result<Bytes> ReadPrivateFile(const std::string& path, std::uint64_t max_bytes);

// A read-only view of a plain file. The file must not be truncated by others while it is mapped. Movable.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept { Swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    Swap(other);
    return *this;
  }
  ~MappedFile();
  ByteSpan bytes() const { return {data_, size_}; }

 private:
  void Swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

// Where the body of an atomic write puts its bytes, in order.
class FileSink {
 public:
  FileSink(int descriptor, const std::string& path) : descriptor_(descriptor), path_(path) {}
  Status Write(ByteSpan bytes);
  Status Write(std::string_view text) { return Write(AsBytes(text)); }

 private:
  int descriptor_;
  const std::string& path_;
};

using FileBody = std::function<Status(FileSink& sink)>;

struct WriteOptions {
  unsigned mode = 0666;  // less the process's mask; of the temporary too, so that a secret is never readable to others
  bool replace = true;   // otherwise an existing file is an error and stays
};

Status WriteFileAtomic(const std::string& path, const FileBody& body, const WriteOptions& options = {});
Status WriteFileAtomic(const std::string& path, ByteSpan bytes, const WriteOptions& options = {});
// Leaves a file alone that has this content already.
Status WriteIfDifferent(const std::string& path, ByteSpan bytes);
// Whether `name` is one that WriteFileAtomic gives to its temporaries; a killed process leaves such files behind.
bool IsTemporaryName(std::string_view name);

// Appends to a file, which is created if needed. What a crash leaves is a prefix of what was appended. Movable.
class AppendFile {
 public:
  static Result<AppendFile> Open(const std::string& path);
  AppendFile(AppendFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}
  AppendFile& operator=(AppendFile&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~AppendFile();
  Status Append(ByteSpan bytes);
  Status Sync();

 private:
  AppendFile(int descriptor, std::string path) : descriptor_(descriptor), path_(std::move(path)) {}
  int descriptor_ = -1;
  std::string path_;
};

// An advisory lock on a file (created if needed), held until destruction or the end of the process. Movable.
class FileLock {
 public:
  // Empty when another process holds it or shares it.
  static Result<std::optional<FileLock>> TryAcquire(const std::string& path);
  // For readers, any number of them; the file must exist and is not touched. Empty when another process holds the lock.
  static Result<std::optional<FileLock>> TryShare(const std::string& path);
  FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  FileLock& operator=(FileLock&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~FileLock();

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

// Creates the directory and its missing parents, and syncs the parents of those it created.
Status MakeDirectories(const std::string& path);
Result<std::vector<std::string>> ListDirectory(const std::string& path);  // names in ascending order
// Everything below `path` that is not a directory, as relative paths in ascending order. Symbolic links are listed, not followed.
Result<std::vector<std::string>> ListTree(const std::string& path);
// An error when anything below `path` is a link or a special file, through which other places could be reached.
Status CheckPlainTree(const std::string& path);
Status RemoveFile(const std::string& path);                            // an error when it does not exist
Status RemoveFileDurably(const std::string& path);                     // the same, and syncs the directory
Status RenameDurably(const std::string& from, const std::string& to);  // within one directory, which is synced
Status TruncateDurably(const std::string& path, std::uint64_t size);   // cuts the file off, and syncs it
// What has been created, renamed and removed in the directory so far is there after a power cut.
Status SyncDirectory(const std::string& path);
// The same for the directory, those below it, and the one that it lies in, where that may be read: makes good what a process that
// was killed did not come to.
Status SyncTree(const std::string& path);
bool Exists(const std::string& path);
bool IsTaken(const std::string& path);  // something has this name, and be it a link that leads nowhere
bool IsDirectory(const std::string& path);
bool IsPlainFile(const std::string& path);  // or a link to one
std::string JoinPath(std::string_view directory, std::string_view name);

}  // namespace assay
