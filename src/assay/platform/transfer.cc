#include "assay/platform/transfer.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>

#include "assay/base/file.h"
#include "assay/base/quote.h"
#include "assay/net/file_range.h"

namespace assay::platform {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kOffsetHeader = "Assay-Offset";
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

std::string PathOf(const Digest& sha256) { return "/v1/blobs/" + sha256.hex(); }

std::uint64_t NumberOf(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

ApiError OtherContent(std::string message) {
  ApiError error(Error{std::move(message)});
  error.code = kOtherContent;
  return error;
}

// The body of an upload from an offset on.
using SourceAt = std::function<Result<BodySource>(std::uint64_t offset)>;

class Upload {
 public:
  Upload(ApiClient& client, const BlobInfo& blob, const SourceAt& source, const TransferProgress& progress)
      : client_(client),
        blob_(blob),
        source_(source),
        progress_(progress),
        backoff_(client.pause(), milliseconds(client.options().patience_ms)) {}

  ApiStatus Run() {
    for (;;) {
      ApiResult<bool> whole = FindOffset();
      if (!whole) return tl::unexpected(std::move(whole).error());
      if (*whole) return {};
      ApiResult<bool> done = SendRest();
      if (done && *done) return {};
      if (!done && !done.error().later) return tl::unexpected(std::move(done).error());
      if (done) continue;
      if (!backoff_.Wait()) return tl::unexpected(std::move(done).error());
    }
  }

 private:
  // Whether the blob is there; otherwise how much of it is.
  ApiResult<bool> FindOffset() {
    auto head = client_.Send("HEAD", PathOf(blob_.sha256), {});
    if (head) {
      if (progress_) progress_(blob_.bytes, blob_.bytes);
      return true;
    }
    if (head.error().status != 404) return tl::unexpected(std::move(head).error());
    MoveTo(NumberOf(FindHeader(head.error().headers, kOffsetHeader)));
    return false;
  }

  // More than before is progress, for which the patience begins anew.
  void MoveTo(std::uint64_t offset) {
    offset = std::min(offset, blob_.bytes);
    if (offset > furthest_) {
      furthest_ = offset;
      backoff_.Reset();
    }
    offset_ = offset;
    if (progress_) progress_(offset_, blob_.bytes);
  }

  // Whether the blob is whole; false: ask where to go on.
  ApiResult<bool> SendRest() {
    auto source = source_(offset_);
    if (!source) return tl::unexpected(ApiError(source.error()));
    std::uint64_t sent = offset_;
    const auto read = source->read;
    source->read = [&](std::span<std::uint8_t> into) -> Status {
      ASSAY_TRY(read(into));
      sent += into.size();
      if (progress_) progress_(sent, blob_.bytes);
      return {};
    };
    auto answer = client_.UploadOnce(fmt::format("{}?offset={}&size={}", PathOf(blob_.sha256), offset_, blob_.bytes), *source);
    if (answer) return answer->status == 201 || answer->status == 200;
    if (answer.error().status == 409 && answer.error().code == "offset") {
      if (++misplaced_ <= 16) return false;
    }
    return tl::unexpected(std::move(answer).error());
  }

  ApiClient& client_;
  const BlobInfo& blob_;
  const SourceAt& source_;
  const TransferProgress& progress_;
  Backoff backoff_;
  std::uint64_t offset_ = 0;
  std::uint64_t furthest_ = 0;
  int misplaced_ = 0;
};

// Hashes what comes, and hands it to where it is kept.
class Download {
 public:
  struct Keep {
    std::function<Status(ByteSpan piece)> append;
    std::function<Status()> restart;
  };
  Download(ApiClient& client, const Digest& sha256, std::uint64_t max_bytes, Keep keep, const TransferProgress& progress)
      : client_(client),
        sha256_(sha256),
        max_bytes_(max_bytes),
        keep_(std::move(keep)),
        progress_(progress),
        backoff_(client.pause(), milliseconds(client.options().patience_ms)) {}

  // What is kept from an earlier time.
  void Resume(ByteSpan piece) {
    hash_.Update(piece);
    have_ += piece.size();
  }
  bool IsWhole() const { return Sha256(hash_).Finish() == sha256_; }

  ApiStatus Run() {
    if (have_ > 0 && IsWhole()) return {};
    for (;;) {
      ApiResult<HttpResponse> answer = Once();
      if (answer) {
        if (IsWhole()) return {};
        if (!resumed_)
          return tl::unexpected(
              OtherContent(fmt::format("{}: what came as blob {} has another hash", client_.server(), sha256_.hex())));
        // The beginning is from an earlier time, and may have been damaged since.
        if (auto status = Restart(); !status) return tl::unexpected(ApiError(status.error()));
        continue;
      }
      if (answer.error().status == 416 && have_ > 0 && ++unsatisfied_ == 1) {
        if (auto status = Restart(); !status) return tl::unexpected(ApiError(status.error()));
        continue;
      }
      if (too_large_) return tl::unexpected(OtherContent(answer.error().message));
      if (!answer.error().later || !backoff_.Wait()) return tl::unexpected(std::move(answer).error());
    }
  }

 private:
  Status Restart() {
    hash_ = Sha256();
    have_ = 0;
    resumed_ = false;
    return keep_.restart();
  }

  ApiResult<HttpResponse> Once() {
    HttpHeaders headers;
    const std::uint64_t asked = have_;
    resumed_ = resumed_ || asked > 0;
    if (asked > 0) headers.emplace_back("Range", fmt::format("bytes={}-", asked));
    bool first = true;
    std::uint64_t total = 0;
    const auto take = [&](const HttpResponse& head, ByteSpan piece) -> Status {
      if (first) {
        first = false;
        if (head.status == 200 && asked > 0) ASSAY_TRY(Restart());
        total = have_ + NumberOf(FindHeader(head.headers, "Content-Length"));
      }
      too_large_ = piece.size() > max_bytes_ - have_;
      if (too_large_) return Err("blob {}: is larger than {} bytes", sha256_.hex(), max_bytes_);
      ASSAY_TRY(keep_.append(piece));
      hash_.Update(piece);
      have_ += piece.size();
      backoff_.Reset();
      if (progress_) progress_(have_, std::max(total, have_));
      return {};
    };
    return client_.DownloadOnce(PathOf(sha256_), headers, take, std::numeric_limits<std::uint64_t>::max());  // `take` bounds it
  }

  ApiClient& client_;
  const Digest sha256_;
  const std::uint64_t max_bytes_;
  const Keep keep_;
  const TransferProgress& progress_;
  Backoff backoff_;
  Sha256 hash_;
  std::uint64_t have_ = 0;
  bool resumed_ = false;
  bool too_large_ = false;
  int unsatisfied_ = 0;
};

Status ResumeFrom(const std::string& part, std::uint64_t max_bytes, Download& download) {
  std::uint64_t size = 0;
  {
    ASSAY_ASSIGN(const MappedFile mapped, MappedFile::Open(part));
    size = mapped.bytes().size();
    if (size <= max_bytes) download.Resume(mapped.bytes());
  }
  return size <= max_bytes ? Status() : TruncateDurably(part, 0);
}

}  // namespace

Result<BlobInfo> HashFile(const std::string& path) {
  std::error_code error;
  if (!IsPlainFile(path)) return Err("{}: expected a file", path);
  const std::uint64_t bytes = std::filesystem::file_size(path, error);
  if (error) return Err("{}: {}", path, error.message());
  ASSAY_ASSIGN(const FileRange range, FileRange::Open(path, 0, bytes));
  Sha256 hash;
  Bytes piece;
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPieceBytes, bytes - at)));
    ASSAY_TRY(range.Read(at, piece.data(), piece.size()));
    hash.Update(piece);
  }
  return BlobInfo{.sha256 = hash.Finish(), .bytes = bytes};
}

ApiStatus UploadBlob(ApiClient& client, const std::string& path, const BlobInfo& blob, const TransferProgress& progress) {
  const SourceAt source = [&](std::uint64_t offset) -> Result<BodySource> {
    ASSAY_ASSIGN(FileRange range, FileRange::Open(path, offset, blob.bytes - offset));
    return BodySource::Of(std::move(range));
  };
  return Upload(client, blob, source, progress).Run();
}

ApiStatus UploadBytes(ApiClient& client, ByteSpan bytes, const BlobInfo& blob) {
  const SourceAt source = [&](std::uint64_t offset) -> Result<BodySource> {
    const ByteSpan rest = bytes.subspan(static_cast<std::size_t>(offset));
    return BodySource{.length = rest.size(),
                      .read = [rest, at = std::size_t{0}](std::span<std::uint8_t> into) mutable -> Status {
                        std::ranges::copy(rest.subspan(at, into.size()), into.begin());
                        at += into.size();
                        return {};
                      }};
  };
  return Upload(client, blob, source, {}).Run();
}

ApiStatus DownloadBlob(ApiClient& client, const Digest& sha256, std::uint64_t max_bytes, const std::string& path,
                       const TransferProgress& progress) {
  const std::string part = fmt::format("{}.{}.part", path, sha256.hex());
  const auto run = [&]() -> ApiStatus {
    std::optional<AppendFile> file;
    const auto open = [&]() -> Status {
      ASSAY_ASSIGN(AppendFile opened, AppendFile::Open(part));
      file.emplace(std::move(opened));
      return {};
    };
    Download download(client, sha256, max_bytes,
                      {.append = [&](ByteSpan piece) { return file->Append(piece); },
                       .restart =
                           [&] {
                             file.reset();
                             if (Status removed = RemoveFile(part); !removed) return removed;
                             return open();
                           }},
                      progress);
    ASSAY_TRY(open());
    ASSAY_TRY(ResumeFrom(part, max_bytes, download));
    ASSAY_TRY(download.Run());
    ASSAY_TRY(file->Sync());
    ASSAY_TRY(RenameDurably(part, path));
    return {};
  };
  ApiStatus status = run();
  // What was broken off may go on another time; what is false may not.
  if (!status && !status.error().later && !client.cancelled() && Exists(part)) static_cast<void>(RemoveFile(part));
  return status;
}

ApiResult<Bytes> FetchBlob(ApiClient& client, const Digest& sha256, std::uint64_t max_bytes) {
  Bytes bytes;
  Download download(client, sha256, max_bytes,
                    {.append = [&](ByteSpan piece) -> Status {
                       bytes.insert(bytes.end(), piece.begin(), piece.end());
                       return {};
                     },
                     .restart = [&]() -> Status {
                       bytes.clear();
                       return {};
                     }},
                    {});
  ASSAY_TRY(download.Run());
  return bytes;
}

}  // namespace assay::platform
