// BlobFolder: the Blobs of blobs.h on a file system. Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "assay/store/aside.h"
#include "assay/store/blobs.h"
#include "assay/store/partial_file.h"

namespace assay::store {

class BlobFolder final : public Blobs {
 public:
  BlobFolder(std::string folder, BlobOptions options);

  Result<bool> Has(const Digest& hash) override;
  Result<std::uint64_t> Size(const Digest& hash) override;
  Result<std::unique_ptr<BlobReader>> OpenForReading(const Digest& hash) override;
  Result<std::uint64_t> Begun(const Digest& hash, std::string_view owner) override;
  Result<std::uint64_t> Begin(const Digest& hash, std::string_view owner, std::uint64_t size) override;
  Result<std::uint64_t> Append(const Digest& hash, std::string_view owner, std::uint64_t offset, ByteSpan bytes) override;
  Status Finish(const Digest& hash, std::string_view owner) override;
  Status Abandon(const Digest& hash, std::string_view owner) override;
  Result<std::int64_t> Sweep(std::int64_t age_ms) override;
  Result<std::vector<BlobInfo>> List(std::uint8_t first) override;
  Result<bool> Renew(const Digest& hash) override;
  Result<bool> RemoveIf(const Digest& hash, std::int64_t before_ms, const std::function<Result<bool>()>& confirm) override;

 private:
  // The hash of the first bytes of a partial file. The open descriptor keeps the file's identity from being given to another file. Whoever
  // holds the partial file may use its entry.
  struct Hashed {
    Descriptor pin;
    FileId file;
    Sha256 hash;
    std::uint64_t bytes = 0;
    std::uint64_t last_use = 0;
  };

  std::string WholePath(const Digest& hash) const;
  std::string PartialPath(const Digest& hash, std::string_view owner) const;
  Result<bool> IsWhole(const Digest& hash, std::uint64_t* size) const;
  // The same, where that spares an upload.
  Result<bool> IsSpared(const Digest& hash, std::uint64_t* size) const;
  Result<std::optional<Descriptor>> LockWhole(const Digest& hash, bool shared) const;
  Status SyncWhole(const Digest& hash) const;
  Status CheckRoom(std::string_view owner, std::uint64_t total, std::uint64_t growth) const;
  std::shared_ptr<Hashed> HashedOf(const std::string& path, const PartialFile& file);
  void Forget(const std::string& path);
  void ForgetGone();
  Result<Digest> DigestOf(const std::string& path, const PartialFile& file);
  Result<bool> SweepOne(const std::string& path, std::int64_t age_ms);

  const std::string folder_;
  const BlobOptions options_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Hashed>> hashed_;  // by path
  std::uint64_t uses_ = 0;
  Aside aside_;  // hashes what is being written
};

}  // namespace assay::store
