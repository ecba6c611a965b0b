#include "assay/seal/primitives.h"

#include <errno.h>
#include <sys/random.h>

#include "assay/base/check.h"
#ifdef ASSAY_HAVE_SODIUM
#include <sodium.h>
#endif

namespace assay::seal {

void SystemRandomness(std::span<std::uint8_t> out) {
  while (!out.empty()) {
    const ssize_t got = ::getrandom(out.data(), out.size(), 0);
    ASSAY_CHECK(got > 0 || errno == EINTR);  // a kernel without randomness cannot make keys
    if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
  }
}

Status CheckCanSeal() {
  if (!CanSeal()) return Err("this build cannot seal: it was made without libsodium");
  return {};
}

#ifdef ASSAY_HAVE_SODIUM

namespace {

// Detects once what the processor can do: without it libsodium computes the same, several times more slowly.
void Start() { [[maybe_unused]] static const int started = sodium_init(); }

}  // namespace

bool CanSeal() { return true; }

Point X25519Base(const Secret<32>& scalar) {
  Start();
  Point point{};
  crypto_scalarmult_base(point.data(), scalar.bytes().data());
  return point;
}

bool X25519(const Secret<32>& scalar, const Point& point, Secret<32>& shared) {
  Start();
  return crypto_scalarmult(shared.bytes().data(), scalar.bytes().data(), point.data()) == 0;
}

Mac HmacSha256(ByteSpan key, ByteSpan message) {
  Start();
  crypto_auth_hmacsha256_state state;
  static constexpr std::uint8_t kNothing = 0;  // libsodium takes no null pointer, also for no bytes
  crypto_auth_hmacsha256_init(&state, key.empty() ? &kNothing : key.data(), key.size());
  crypto_auth_hmacsha256_update(&state, message.empty() ? &kNothing : message.data(), message.size());
  Mac mac{};
  crypto_auth_hmacsha256_final(&state, mac.data());
  sodium_memzero(&state, sizeof state);
  return mac;
}

// RFC 5869 with an output of one hash.
Secret<32> HkdfSha256(ByteSpan key_material, ByteSpan salt, std::string_view info) {
  Mac extracted = HmacSha256(salt, key_material);
  Bytes expand(info.begin(), info.end());
  expand.push_back(1);
  Mac expanded = HmacSha256(extracted, expand);
  Secret<32> key(expanded);
  Wipe(extracted);
  Wipe(expanded);
  return key;
}

bool SameMac(const Mac& a, const Mac& b) { return sodium_memcmp(a.data(), b.data(), a.size()) == 0; }

void Encrypt(const Secret<32>& key, const Nonce& nonce, ByteSpan plain, std::span<std::uint8_t> out) {
  static_assert(kTagSize == crypto_aead_chacha20poly1305_ietf_ABYTES);
  ASSAY_CHECK(out.size() == plain.size() + kTagSize);
  Start();
  crypto_aead_chacha20poly1305_ietf_encrypt(out.data(), nullptr, plain.data(), plain.size(), nullptr, 0, nullptr, nonce.data(),
                                            key.bytes().data());
}

bool Decrypt(const Secret<32>& key, const Nonce& nonce, ByteSpan sealed, std::span<std::uint8_t> out) {
  ASSAY_CHECK(sealed.size() == out.size() + kTagSize);
  Start();
  return crypto_aead_chacha20poly1305_ietf_decrypt(out.data(), nullptr, nullptr, sealed.data(), sealed.size(), nullptr, 0,
                                                   nonce.data(), key.bytes().data()) == 0;
}

#else

namespace {

[[noreturn]] void Missing() { CheckFailed("CanSeal()", __FILE__, __LINE__); }

}  // namespace

bool CanSeal() { return false; }
Point X25519Base(const Secret<32>&) { Missing(); }
bool X25519(const Secret<32>&, const Point&, Secret<32>&) { Missing(); }
Mac HmacSha256(ByteSpan, ByteSpan) { Missing(); }
Secret<32> HkdfSha256(ByteSpan, ByteSpan, std::string_view) { Missing(); }
bool SameMac(const Mac&, const Mac&) { Missing(); }
void Encrypt(const Secret<32>&, const Nonce&, ByteSpan, std::span<std::uint8_t>) { Missing(); }
bool Decrypt(const Secret<32>&, const Nonce&, ByteSpan, std::span<std::uint8_t>) { Missing(); }

#endif

}  // namespace assay::seal
