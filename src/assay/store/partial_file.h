// PartialFile: the file of an upload under way, held by one user at a time among all threads and processes. Movable, not synchronised.
//
// What is in it is only ever added to, so a prefix that was hashed once stays what it is for as long as the file is this one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/merkle/sha256.h"
#include "assay/store/descriptor.h"

namespace assay::store {

// Which file it is, whatever its name. Unique while the file is open.
struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};
std::optional<FileId> FileIdAt(const std::string& path);  // empty where there is no file

class PartialFile {
 public:
  enum class Mode { kCreate, kExisting, kExistingUnlessHeld };
  // Waits until no other has it, except with kExistingUnlessHeld. Empty where it does not exist, or is held.
  static Result<std::optional<PartialFile>> Open(const std::string& path, Mode mode);

  std::uint64_t size() const { return size_; }
  std::int64_t modified_ms() const { return modified_ms_; }  // when it was opened
  const FileId& id() const { return id_; }
  // The file once more, without the lock, which a duplicate would share. Not open where the process has too many files.
  Descriptor Reopen() const;

  // An error where the file has other bytes at `offset`.
  Status Compare(std::uint64_t offset, ByteSpan bytes) const;
  // All of the bytes or none.
  Status Append(ByteSpan bytes);
  // Feeds the bytes from `offset` to the end to the hash.
  Status HashFrom(std::uint64_t offset, Sha256& hash) const;
  Status SetModified(std::int64_t wall_ms);
  Status Sync();
  Status Remove();

 private:
  PartialFile(Descriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Descriptor file_;
  std::string path_;
  FileId id_;
  std::uint64_t size_ = 0;
  std::int64_t modified_ms_ = 0;
};

}  // namespace assay::store
