#include "assay/sign/ed25519_own.h"

#include <string.h>

#include <algorithm>
#include <optional>
#include <span>

#include "assay/sign/ed25519_point.h"
#include "assay/sign/sha512.h"

namespace assay::ed25519::own {
namespace {

template <class T>
void Wipe(T& secret) {
  ::explicit_bzero(&secret, sizeof(secret));
}

// What a seed stands for: the secret scalar, and the prefix from which nonces are derived.
struct Expanded {
  Scalar scalar{};
  std::array<std::uint8_t, 32> prefix{};

  explicit Expanded(const Seed& seed) {
    Sha512::Value hash = Sha512().Update(seed).Finish();
    hash[0] &= 0xf8;
    hash[31] = static_cast<std::uint8_t>((hash[31] & 0x7f) | 0x40);
    scalar = LoadScalar(std::span(hash).first<32>());
    std::copy(hash.begin() + 32, hash.end(), prefix.begin());
    Wipe(hash);
  }
  Expanded(const Expanded&) = delete;
  Expanded& operator=(const Expanded&) = delete;
  ~Expanded() {
    Wipe(scalar);
    Wipe(prefix);
  }
};

Scalar Challenge(ByteSpan r, const PublicKey& public_key, ByteSpan message) {
  return ReduceHash(Sha512().Update(r).Update(public_key).Update(message).Finish());
}

// The point of a key that the rule accepts.
std::optional<Point> DecodeUsable(const PublicKey& public_key) {
  const std::optional<Point> point = DecodePoint(public_key);
  if (!point || IsSmallOrder(*point)) return std::nullopt;
  return point;
}

}  // namespace

PublicKey DerivePublicKey(const Seed& seed) {
  const Expanded key(seed);
  return Encode(MultiplyBase(key.scalar));
}

Signature Sign(const Seed& seed, const PublicKey& public_key, ByteSpan message) {
  const Expanded key(seed);
  Sha512::Value nonce_hash = Sha512().Update(key.prefix).Update(message).Finish();
  Scalar nonce = ReduceHash(nonce_hash);
  const std::array<std::uint8_t, 32> r = Encode(MultiplyBase(nonce));
  const std::array<std::uint8_t, 32> s = StoreScalar(MultiplyAdd(key.scalar, Challenge(r, public_key, message), nonce));
  Wipe(nonce_hash);
  Wipe(nonce);
  Signature signature{};
  std::copy(r.begin(), r.end(), signature.begin());
  std::copy(s.begin(), s.end(), signature.begin() + 32);
  return signature;
}

bool Verify(const PublicKey& public_key, ByteSpan message, const Signature& signature) {
  const auto r = std::span(signature).first<32>();
  const Scalar s = LoadScalar(std::span(signature).last<32>());
  const std::optional<Point> key = DecodeUsable(public_key);
  if (!IsReduced(s) || !key) return false;
  const Scalar challenge = Challenge(r, public_key, message);
  // The encoding computed here is canonical, so equality of bytes also says that R's is.
  const Point expected = Add(MultiplyBase(s), Negate(Multiply(challenge, *key)));
  const std::array<std::uint8_t, 32> encoded = Encode(expected);
  return std::equal(encoded.begin(), encoded.end(), r.begin()) && !IsSmallOrder(expected);
}

bool IsUsable(const PublicKey& public_key) { return DecodeUsable(public_key).has_value(); }

}  // namespace assay::ed25519::own
