// Blobs to and from a coordinator (docs/formats/platform.md, "Blobs"): a blob is named by its SHA-256, so both directions resume where they broke off, and what
// arrives is what was meant, whoever sent it.
//
// Transfers go on as long as something moves; the client's patience is for the time in which nothing does. Not thread safe: one client, one transfer at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/merkle/sha256.h"
#include "assay/platform/api_client.h"

namespace assay::platform {

struct BlobInfo {
  Digest sha256{};
  std::uint64_t bytes = 0;
  friend bool operator==(const BlobInfo&, const BlobInfo&) = default;
};

// The name that a file has as a blob. Reads it once, in pieces.
Result<BlobInfo> HashFile(const std::string& path);

// Called now and then; `done` may go back where a transfer begins anew.
using TransferProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

// Leaves the coordinator with the whole blob. Sends nothing where it is there already. A file that changes meanwhile is an error.
ApiStatus UploadBlob(ApiClient& client, const std::string& path, const BlobInfo& blob, const TransferProgress& progress = {});
ApiStatus UploadBytes(ApiClient& client, ByteSpan bytes, const BlobInfo& blob);

// The code of the error where what comes is not what the blob's name says: another hash, or more bytes than it may have.
inline constexpr std::string_view kOtherContent = "other_content";

// Leaves the whole blob at `path`, or no file. What came of it before an interruption stays beside it as PATH.SHA.part, and is not asked for again. A blob of
// another hash is an error, as is one of more than `max_bytes`.
ApiStatus DownloadBlob(ApiClient& client, const Digest& sha256, std::uint64_t max_bytes, const std::string& path,
                       const TransferProgress& progress = {});
// A blob of at most `max_bytes`, in memory.
ApiResult<Bytes> FetchBlob(ApiClient& client, const Digest& sha256, std::uint64_t max_bytes);

}  // namespace assay::platform
