// Ed25519 in the place of sign/ed25519.cc, for simulations: the same functions, which remember what they came to. They are pure, so nothing that is checked with
// them is checked less; and most of what the parties of a simulation sign and verify, they have signed and verified before. One thread.
#include "assay/sign/ed25519.h"

#include <string>
#include <unordered_map>

#include "assay/merkle/sha256.h"
#include "assay/sign/ed25519_fast.h"

namespace assay::ed25519 {
namespace {

constexpr std::size_t kMostRemembered = 1 << 18;

// By the hash of all that goes into the function.
template <class Value, class Compute, class... Parts>
Value Remembered(std::unordered_map<std::string, Value>& known, const Compute& compute, const Parts&... parts) {
  Sha256 hash;
  (hash.Update(parts), ...);
  const Digest digest = hash.Finish();
  const std::string key(digest.bytes.begin(), digest.bytes.end());
  const auto found = known.find(key);
  if (found != known.end()) return found->second;
  if (known.size() >= kMostRemembered) known.clear();
  return known[key] = compute();
}

}  // namespace

PublicKey DerivePublicKey(const Seed& seed) {
  static std::unordered_map<std::string, PublicKey> known;
  return Remembered(known, [&] { return fast::DerivePublicKey(seed); }, seed);
}

// The parts before the message are of one length each.
Signature Sign(const Seed& seed, const PublicKey& public_key, ByteSpan message) {
  static std::unordered_map<std::string, Signature> known;
  return Remembered(known, [&] { return fast::Sign(seed, public_key, message); }, seed, public_key, message);
}

bool Verify(const PublicKey& public_key, ByteSpan message, const Signature& signature) {
  static std::unordered_map<std::string, bool> known;
  return Remembered(known, [&] { return fast::Verify(public_key, message, signature); }, public_key, signature, message);
}

bool IsUsable(const PublicKey& public_key) {
  static std::unordered_map<std::string, bool> known;
  return Remembered(known, [&] { return fast::IsUsable(public_key); }, public_key);
}

}  // namespace assay::ed25519
