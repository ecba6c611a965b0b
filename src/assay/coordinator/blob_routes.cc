#include <fcntl.h>

#include <utility>

#include "assay/coordinator/office.h"

namespace assay::coordinator {
namespace {

constexpr char kOffset[] = "Assay-Offset";

Outcome<Digest> HashOf(const Call& call) {
  auto hash = Digest::FromHex(call.Path("sha"));
  if (!hash) return BadRequest("the name of a blob has 64 lower-case hex digits");
  return *hash;
}

Failure NoBlob(const Digest& hash) {
  return {.status = 404, .code = "not_found", .error = fmt::format("there is no blob {}", hash.hex())};
}

Failure BlobFailure(const Error& error) {
  if (IsFull(error)) return {.status = 507, .code = "full", .error = "the coordinator's disk is full", .detail = error.message};
  return FailureOf(error);
}

Outcome<void> Weighed(const Status& weighed) {
  if (weighed) return {};
  if (weighed.error().not_the_askers()) return tl::unexpected(FailureOf(weighed.error()));
  return Fail(507, "quota", weighed.error().message);
}

class BlobUpload final : public Upload {
 public:
  BlobUpload(Office& office, const Digest& hash, std::string account, std::uint64_t offset, std::uint64_t size, bool whole)
      : office_(office),
        hash_(hash),
        account_(std::move(account)),
        position_(offset),
        size_(size),
        whole_(whole),
        weighed_ms_(office.Now()) {}

  std::optional<HttpResponse> Take(ByteSpan piece) override {
    if (whole_) return std::nullopt;
    if (piece.size() > size_ - position_) {
      return ToResponse(
          {.status = 400, .code = "bad_request", .error = fmt::format("more bytes were sent than the size says, {}", size_)});
    }
    // What takes longer than uploads are remembered would otherwise weigh nothing before its end.
    if (office_.Now() - weighed_ms_ >= BlobRights::kRenewedMs) {
      if (const auto weighed = WeighAgain(); !weighed) return ToResponse(weighed.error());
    }
    const auto there = office_.blobs.Append(hash_, account_, position_, piece);
    if (!there && !there.error().system) {
      // Other bytes than the first time: one of the two was wrong, and there is no telling which.
      if (const Status dropped = office_.blobs.Abandon(hash_, account_); !dropped)
        office_.log.Event("blob", dropped.error().message);
    }
    if (!there) return ToResponse(BlobFailure(there.error()));
    position_ += piece.size();
    office_.metrics.Add("assay_upload_bytes_total", static_cast<double>(piece.size()));
    return std::nullopt;
  }

  Answer End() override {
    if (whole_) return JsonAnswer(201, {{"offset", size_}});
    if (size_ == 0) {
      if (const auto made = office_.blobs.Append(hash_, account_, 0, {}); !made)
        return tl::unexpected(BlobFailure(made.error()));
    }
    const auto there = office_.blobs.Begun(hash_, account_);
    if (!there) return tl::unexpected(BlobFailure(there.error()));
    if (*there < size_) {
      ASSAY_ASSIGN(const bool has, OrFail(office_.rights.MaySee(account_, hash_)));
      return has ? JsonAnswer(201, {{"offset", size_}}) : JsonAnswer(202, {{"offset", *there}});
    }
    ASSAY_TRY(WeighAgain());
    if (const Status finished = office_.blobs.Finish(hash_, account_); !finished) {
      // Two workers of an account may bring the same bytes at the same time, and one of them finishes the upload for both.
      ASSAY_ASSIGN(const bool has, OrFail(office_.rights.MaySee(account_, hash_)));
      if (!has) return tl::unexpected(BlobFailure(finished.error()));
    }
    ASSAY_ASSIGN(const std::uint64_t bytes, OrFail(office_.blobs.Size(hash_)));
    ASSAY_TRY(Weighed(office_.rights.Finish(account_, hash_, static_cast<std::int64_t>(bytes))));
    return JsonAnswer(201, {{"offset", size_}});
  }

 private:
  Outcome<void> WeighAgain() {
    weighed_ms_ = office_.Now();
    return Weighed(office_.rights.Begin(account_, hash_, static_cast<std::int64_t>(size_)));
  }

  Office& office_;
  const Digest hash_;
  const std::string account_;
  std::uint64_t position_;  // of the next byte
  const std::uint64_t size_;
  const bool whole_;  // the account has it already: what is sent is not looked at
  std::int64_t weighed_ms_;
};

Outcome<std::unique_ptr<Upload>> BeginUpload(Office& office, const Call& call) {
  ASSAY_ASSIGN(const Digest hash, HashOf(call));
  constexpr std::int64_t kMost = std::int64_t{1} << 56;
  ASSAY_ASSIGN(const std::int64_t offset, call.QueryNumber("offset", 0, 0, kMost));
  ASSAY_ASSIGN(const std::int64_t size, call.QueryNumber("size", -1, 0, kMost));
  if (size < 0) return BadRequest("size: expected the number of bytes of the whole blob");
  if (offset > size) return BadRequest("offset: expected at most the size, {}, got {}", size, offset);
  if (static_cast<std::uint64_t>(size) > office.max_blob_bytes)
    return Fail(413, "too_large", fmt::format("a blob has at most {} bytes", office.max_blob_bytes));
  const auto make = [&](bool whole) {
    return std::make_unique<BlobUpload>(office, hash, call.caller.account, static_cast<std::uint64_t>(offset),
                                        static_cast<std::uint64_t>(size), whole);
  };
  ASSAY_ASSIGN(const bool seen, OrFail(office.rights.MaySee(call.caller.account, hash)));
  if (seen) {
    ASSAY_ASSIGN(const bool whole, OrFail(office.blobs.Renew(hash)));
    if (whole) return make(true);
  }
  ASSAY_TRY(Weighed(office.rights.Begin(call.caller.account, hash, size)));
  auto there = office.blobs.Begin(hash, call.caller.account, static_cast<std::uint64_t>(size));
  if (!there && !there.error().system) {
    // More is there than the blob should have: it was begun with another size.
    ASSAY_TRY(OrFail(office.blobs.Abandon(hash, call.caller.account)));
    there = office.blobs.Begin(hash, call.caller.account, static_cast<std::uint64_t>(size));
  }
  if (!there) return tl::unexpected(BlobFailure(there.error()));
  if (static_cast<std::uint64_t>(offset) > *there) {
    Failure gap{.status = 409,
                .code = "offset",
                .error = fmt::format("{} bytes are there, the next cannot begin at {}", *there, offset)};
    gap.headers.emplace_back(kOffset, std::to_string(*there));
    return tl::unexpected(std::move(gap));
  }
  return make(false);
}

struct Piece {
  std::uint64_t begin = 0, length = 0;
};

// What a Range header asks for, of the forms "bytes=N-" and "bytes=N-M". Others are not honoured, as is everybody's right: the whole is sent.
Outcome<std::optional<Piece>> RangeOf(std::string_view text, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!text.starts_with(kUnit)) return std::optional<Piece>();
  text.remove_prefix(kUnit.size());
  const std::size_t dash = text.find('-');
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    if (digits.empty() || digits.size() > 17 || digits.find_first_not_of("0123456789") != std::string_view::npos)
      return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
    return value;
  };
  if (dash == std::string_view::npos) return std::optional<Piece>();
  const auto begin = number(text.substr(0, dash));
  const auto last = number(text.substr(dash + 1));
  if (!begin || (!last && dash + 1 < text.size()) || (last && *last < *begin)) return std::optional<Piece>();
  if (*begin >= size) {
    Failure failure{.status = 416, .code = "range", .error = fmt::format("the blob has {} bytes", size)};
    failure.headers.emplace_back("Content-Range", fmt::format("bytes */{}", size));
    return tl::unexpected(std::move(failure));
  }
  const std::uint64_t end = last && *last < size ? *last + 1 : size;
  return std::optional<Piece>(Piece{.begin = *begin, .length = end - *begin});
}

Outcome<void> SendBlob(Office& office, const Call& call, Responder& responder) {
  ASSAY_ASSIGN(const Digest hash, HashOf(call));
  bool may_see = call.caller.admin();
  if (!may_see) {
    ASSAY_ASSIGN(may_see, OrFail(office.rights.MaySee(call.caller.account, hash)));
  }
  bool whole = false;
  if (may_see) {
    ASSAY_ASSIGN(whole, OrFail(office.blobs.Has(hash)));
  }
  if (!whole) {
    Failure failure = NoBlob(hash);
    ASSAY_ASSIGN(const std::uint64_t begun, OrFail(office.blobs.Begun(hash, call.caller.account)));
    failure.headers.emplace_back(kOffset, std::to_string(begun));
    return tl::unexpected(std::move(failure));
  }
  ASSAY_ASSIGN(const auto blob, OrFail(office.blobs.OpenForReading(hash)));
  std::optional<Piece> piece;
  if (call.request.method == "GET") {
    ASSAY_ASSIGN(piece, RangeOf(call.request.Header("Range"), blob->size()));
  }
  HttpResponse head{.status = piece ? 206 : 200};
  head.headers.emplace_back("Accept-Ranges", "bytes");
  head.headers.emplace_back("ETag", fmt::format("\"{}\"", hash.hex()));
  if (piece) {
    head.headers.emplace_back("Content-Range",
                              fmt::format("bytes {}-{}/{}", piece->begin, piece->begin + piece->length - 1, blob->size()));
  } else {
    piece = Piece{.begin = 0, .length = blob->size()};
  }
  const int descriptor = ::fcntl(blob->descriptor(), F_DUPFD_CLOEXEC, 0);
  if (descriptor < 0) return Later(1, "the coordinator has too many files open; send the request again");
  responder.SendFile(std::move(head), FileRange(descriptor, piece->begin, piece->length));
  return {};
}

}  // namespace

void AddBlobRoutes(Routes& routes, Office& office) {
  routes.AddSchema("Offset",
                   R"({"type":"object","required":["offset"],"properties":{"offset":{"type":"integer","minimum":0}}})");
  const auto send = [&office](Call call, Responder responder) {
    if (auto sent = SendBlob(office, call, responder); !sent) responder.Send(tl::unexpected(std::move(sent).error()));
  };
  routes.Add({.method = "HEAD",
              .path = "/v1/blobs/{sha}",
              .roles = kAnyToken,
              .summary = "Whether a blob is whole; 404 says with Assay-Offset how much of this account's upload is there",
              .later = send});
  routes.Add({.method = "GET",
              .path = "/v1/blobs/{sha}",
              .roles = kAnyToken,
              .summary = "The bytes of a blob; Range: bytes=N- is honoured",
              .response_schema = "application/octet-stream",
              .statuses = {206, 416},
              .later = send});
  routes.Add({.method = "PUT",
              .path = "/v1/blobs/{sha}",
              .roles = kAnyToken,
              .summary = "Adds bytes to an upload, from an offset on; 201 when the blob is whole, 202 while it is not",
              .body = Route::Body::kUpload,
              .max_body_bytes = office.max_blob_bytes,
              .query = {{"offset", "integer", "where the body's first byte stands in the blob"},
                        {"size", "integer", "bytes of the whole blob", true}},
              .request_schema = "application/octet-stream",
              .response_schema = "Offset",
              .status = 201,
              .statuses = {202, 409, 411, 507},
              .upload = [&office](const Call& call) { return BeginUpload(office, call); }});
}

}  // namespace assay::coordinator
