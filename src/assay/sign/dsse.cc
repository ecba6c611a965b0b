#include "assay/sign/dsse.h"

#include <algorithm>

#include "assay/base/base64.h"
#include "assay/base/check.h"

namespace assay {
namespace {

// The envelope's fixed parts; the payload stands after the first, the signature before the last.
constexpr std::string_view kOpening = R"({"payload":")";
constexpr std::string_view kClosing = "\"}]}\n";

std::string Middle(std::string_view payload_type, const VerifyKey& key) {
  return fmt::format(R"(","payloadType":"{}","signatures":[{{"keyid":"{}","sig":")", payload_type, key.id());
}

// Types stand in the JSON as they are.
bool IsPlainType(std::string_view type) {
  return !type.empty() &&
         std::all_of(type.begin(), type.end(), [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; });
}

}  // namespace

std::string EnvelopeMessage(std::string_view payload_type, std::string_view payload) {
  return fmt::format("DSSEv1 {} {} {} {}", payload_type.size(), payload_type, payload.size(), payload);
}

std::string SignEnvelope(std::string_view payload_type, std::string_view payload, const SigningKey& key) {
  ASSAY_CHECK(IsPlainType(payload_type));
  const Signature signature = key.Sign(AsBytes(EnvelopeMessage(payload_type, payload)));
  return fmt::format("{}{}{}{}{}", kOpening, Base64(AsBytes(payload)), Middle(payload_type, key.verify_key()),
                     Base64(signature), kClosing);
}

Result<std::string> OpenEnvelope(std::string_view envelope, std::string_view payload_type, const VerifyKey& key,
                                 std::string_view what) {
  ASSAY_CHECK(IsPlainType(payload_type));
  std::string_view rest = envelope;
  if (!rest.starts_with(kOpening)) return Err("{}: expected a DSSE envelope that begins with {}", what, kOpening);
  rest.remove_prefix(kOpening.size());
  const std::size_t payload_size = std::min(rest.find('"'), rest.size());
  const auto payload = FromBase64(rest.substr(0, payload_size));
  if (!payload) return Err("{}: payload: {}", what, payload.error().message);
  rest.remove_prefix(payload_size);
  const std::string middle = Middle(payload_type, key);
  if (!rest.starts_with(middle)) return Err("{}: expected a payload of type {} signed by {}", what, payload_type, key.id());
  rest.remove_prefix(middle.size());
  if (!rest.ends_with(kClosing)) return Err("{}: expected one signature and the end of the envelope", what);
  rest.remove_suffix(kClosing.size());
  const auto bytes = FromBase64(rest);
  Signature signature{};
  if (!bytes || bytes->size() != signature.size()) return Err("{}: expected a signature of 64 bytes in base64", what);
  std::copy(bytes->begin(), bytes->end(), signature.begin());
  std::string text(payload->begin(), payload->end());
  if (!key.Verify(AsBytes(EnvelopeMessage(payload_type, text)), signature)) {
    return Err("{}: the signature of {} does not fit the payload: the copy is damaged or was not made by that key", what,
               key.id());
  }
  return text;
}

}  // namespace assay
