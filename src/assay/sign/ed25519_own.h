// Our own Ed25519, for builds that cannot link libsodium; ed25519.h says which one signs and verifies, and what the functions mean.
// Signing takes the same path whatever the key is and wipes what it derived from it. Pure functions; thread safe.
#pragma once

#include "assay/sign/ed25519_types.h"

namespace assay::ed25519::own {

PublicKey DerivePublicKey(const Seed& seed);
Signature Sign(const Seed& seed, const PublicKey& public_key, ByteSpan message);
bool Verify(const PublicKey& public_key, ByteSpan message, const Signature& signature);
bool IsUsable(const PublicKey& public_key);

}  // namespace assay::ed25519::own
