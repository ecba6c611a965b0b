#include "assay/sign/ed25519_fast.h"

#include "assay/sign/ed25519_own.h"
#ifdef ASSAY_HAVE_SODIUM
#include <sodium.h>
#include <string.h>

#include <algorithm>
#endif

namespace assay::ed25519::fast {

#ifdef ASSAY_HAVE_SODIUM

namespace {

// Detects once what the processor can do. Without it libsodium computes the same, more slowly; it fails only where the system gives no
// random numbers, which nothing here needs.
void Start() { [[maybe_unused]] static const int started = sodium_init(); }

// libsodium's form of a secret key: the seed and the public key. Wiped when done with.
struct SecretKey {
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> bytes{};

  SecretKey() = default;
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
  ~SecretKey() { ::explicit_bzero(bytes.data(), bytes.size()); }
};

}  // namespace

PublicKey DerivePublicKey(const Seed& seed) {
  Start();
  PublicKey key{};
  SecretKey secret;
  crypto_sign_seed_keypair(key.data(), secret.bytes.data(), seed.data());
  return key;
}

Signature Sign(const Seed& seed, const PublicKey& public_key, ByteSpan message) {
  Start();
  SecretKey secret;
  std::copy(seed.begin(), seed.end(), secret.bytes.begin());
  std::copy(public_key.begin(), public_key.end(), secret.bytes.begin() + seed.size());
  Signature signature{};
  crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(), secret.bytes.data());
  return signature;
}

bool Verify(const PublicKey& public_key, ByteSpan message, const Signature& signature) {
  Start();
  return crypto_sign_verify_detached(signature.data(), message.data(), message.size(), public_key.data()) == 0;
}

#else

PublicKey DerivePublicKey(const Seed& seed) { return own::DerivePublicKey(seed); }
Signature Sign(const Seed& seed, const PublicKey& public_key, ByteSpan message) { return own::Sign(seed, public_key, message); }
bool Verify(const PublicKey& public_key, ByteSpan message, const Signature& signature) {
  return own::Verify(public_key, message, signature);
}

#endif

// libsodium has no function that asks just this.
bool IsUsable(const PublicKey& public_key) { return own::IsUsable(public_key); }

}  // namespace assay::ed25519::fast
