#include "assay/platform/request_signature.h"

#include <algorithm>
#include <charconv>

#include "assay/base/base64.h"
#include "assay/base/quote.h"

namespace assay::platform {
namespace {

constexpr std::int64_t kMaxTime = (std::int64_t{1} << 53) - 1;

tl::unexpected<SignatureRefusal> Refuse(std::string message, bool clock = false) {
  return tl::unexpected(SignatureRefusal{.message = std::move(message), .clock = clock});
}

}  // namespace

std::string RequestMessage(const SignedRequest& request, std::int64_t time_ms) {
  return fmt::format("assay/worker/2\n{}\n{}\n{}\n{}\n{}\n{}\n", request.method, request.target, time_ms, request.body.hex(),
                     Hex(request.coordinator), request.token.hex());
}

HttpHeaders SignRequest(const SignedRequest& request, std::int64_t time_ms, const SigningKey& key) {
  const Signature signature = key.Sign(AsBytes(RequestMessage(request, time_ms)));
  return {{std::string(kWorkerHeader), key.verify_key().ToString()},
          {std::string(kTimeHeader), std::to_string(time_ms)},
          {std::string(kSignatureHeader), Base64(signature)}};
}

Result<std::int64_t> ParseTime(std::string_view text) {
  std::int64_t time = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || time < 0 || time > kMaxTime || std::to_string(time) != text) {
    return Err("{}: expected milliseconds since 1970, got {}", kTimeHeader, Quote(text));
  }
  return time;
}

tl::expected<VerifyKey, SignatureRefusal> VerifyRequest(const SignedRequest& request, const HttpHeaders& headers,
                                                        std::int64_t now_ms, const std::optional<VerifyKey>& known) {
  const std::string_view worker = FindHeader(headers, kWorkerHeader);
  if (worker.empty())
    return Refuse(fmt::format("expected a request that a worker's key signs, with the header {}", kWorkerHeader));
  const auto key = known ? Result<VerifyKey>(*known) : VerifyKey::Parse(worker);
  if (!key) return Refuse(fmt::format("{}: {}", kWorkerHeader, key.error().message));
  const auto time = ParseTime(FindHeader(headers, kTimeHeader));
  if (!time) return Refuse(time.error().message);
  const auto bytes = FromBase64(FindHeader(headers, kSignatureHeader));
  Signature signature{};
  if (!bytes || bytes->size() != signature.size()) {
    return Refuse(fmt::format("{}: expected {} bytes in base64", kSignatureHeader, signature.size()));
  }
  std::ranges::copy(*bytes, signature.begin());
  if (!key->Verify(AsBytes(RequestMessage(request, *time)), signature)) {
    return Refuse(fmt::format("{}: is not a signature of {} over this request", kSignatureHeader, key->id()));
  }
  if (*time > now_ms + kMaxSkewMs || *time < now_ms - kMaxSkewMs) {
    return Refuse(fmt::format("{}: the request was signed at {}, the coordinator's clock says {}", kTimeHeader, *time, now_ms),
                  true);
  }
  return *key;
}

}  // namespace assay::platform
