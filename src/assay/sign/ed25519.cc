// Nothing but these four, so that a program may bring its own in their place: a simulation that signs and verifies the same a hundred times remembers it.
#include "assay/sign/ed25519.h"

#include "assay/sign/ed25519_fast.h"

namespace assay::ed25519 {

PublicKey DerivePublicKey(const Seed& seed) { return fast::DerivePublicKey(seed); }

Signature Sign(const Seed& seed, const PublicKey& public_key, ByteSpan message) {
  return fast::Sign(seed, public_key, message);
}

bool Verify(const PublicKey& public_key, ByteSpan message, const Signature& signature) {
  return fast::Verify(public_key, message, signature);
}

bool IsUsable(const PublicKey& public_key) { return fast::IsUsable(public_key); }

}  // namespace assay::ed25519
