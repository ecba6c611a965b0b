#include "assay/seal/file_key.h"

#include <algorithm>
#include <optional>

#include "assay/base/quote.h"

namespace assay::seal {
namespace {

constexpr std::string_view kKind = "X25519";
constexpr std::string_view kPassphraseKind = "scrypt";
constexpr std::string_view kWrapInfo = "age-encryption.org/v1/X25519";
constexpr std::string_view kBindingInfo = "assay/sealed/bound/1";
constexpr std::size_t kBodySize = 16 + kTagSize;

Secret<32> WrapKey(const Secret<32>& shared, const Point& share, const Point& recipient) {
  Bytes salt(share.begin(), share.end());
  salt.insert(salt.end(), recipient.begin(), recipient.end());
  return HkdfSha256(shared.bytes(), salt, kWrapInfo);
}

// The ephemeral share of a stanza of our kind.
Result<Point> ShareOf(const Stanza& stanza) {
  Point share{};
  if (stanza.arguments.size() != 2) return Err("expected one argument after X25519, got {}", stanza.arguments.size() - 1);
  const auto bytes = FromRawBase64(stanza.arguments[1]);
  if (!bytes || bytes->size() != share.size())
    return Err("expected a share of 32 bytes in base64, got {}", Quote(stanza.arguments[1]));
  if (stanza.body.size() != kBodySize) return Err("expected a wrapped key of {} bytes, got {}", kBodySize, stanza.body.size());
  std::copy(bytes->begin(), bytes->end(), share.begin());
  return share;
}

// The key, or none when the stanza is for somebody else.
Result<std::optional<FileKey>> Unwrap(const Stanza& stanza, const Point& share, const Identity& identity) {
  Secret<32> shared;
  if (!X25519(identity.secret(), share, shared)) return Err("its share is a point of small order");
  FileKey key;
  const bool ours = Decrypt(WrapKey(shared, share, identity.recipient().point()), Nonce{}, stanza.body, key.bytes());
  return ours ? std::optional<FileKey>(std::move(key)) : std::nullopt;
}

}  // namespace

Result<Stanza> WrapFileKey(const FileKey& key, const Recipient& recipient, const Randomness& randomness) {
  Secret<32> ephemeral, shared;
  randomness(ephemeral.bytes());
  const Point share = X25519Base(ephemeral);
  if (!X25519(ephemeral, recipient.point(), shared)) {
    return Err("recipient {}: is a point of small order, which keeps no secret", recipient.ToString());
  }
  Stanza stanza{.arguments = {std::string(kKind), RawBase64(share)}, .body = Bytes(kBodySize)};
  Encrypt(WrapKey(shared, share, recipient.point()), Nonce{}, key.bytes(), stanza.body);
  return stanza;
}

Result<FileKey> UnwrapFileKey(std::span<const Stanza> stanzas, std::span<const Identity> identities, std::string_view what) {
  std::vector<std::pair<const Stanza*, Point>> candidates;
  for (std::size_t i = 0; i < stanzas.size(); ++i) {
    const std::string& kind = stanzas[i].arguments[0];
    if (kind == kPassphraseKind && stanzas.size() > 1) {
      return Err("{}: header: has a passphrase (scrypt) beside other recipients, which the format forbids", what);
    }
    if (kind == kPassphraseKind) return Err("{}: is sealed with a passphrase, expected recipients", what);
    if (kind != kKind) continue;
    const auto share = ShareOf(stanzas[i]);
    if (!share) return Err("{}: header: stanza {}: {}", what, i + 1, share.error().message);
    candidates.emplace_back(&stanzas[i], *share);
  }
  for (const auto& [stanza, share] : candidates) {
    for (const Identity& identity : identities) {
      auto key = Unwrap(*stanza, share, identity);
      if (!key) return Err("{}: header: stanza {}: {}", what, stanza - stanzas.data() + 1, key.error().message);
      if (*key) return *std::move(*key);
    }
  }
  if (identities.size() == 1) return Err("{}: is not sealed to {}", what, identities[0].recipient().ToString());
  return Err("{}: is sealed to none of the {} identities", what, identities.size());
}

Mac HeaderMac(const FileKey& key, std::string_view text) {
  return HmacSha256(HkdfSha256(key.bytes(), {}, "header").bytes(), AsBytes(text));
}

Secret<32> BindingKey(const FileKey& key) { return HkdfSha256(key.bytes(), {}, kBindingInfo); }

Secret<32> PayloadKey(const FileKey& key, std::span<const std::uint8_t, 16> nonce) {
  return HkdfSha256(key.bytes(), nonce, "payload");
}

}  // namespace assay::seal
