// Ed25519 by the fastest code that is at hand: libsodium's, or our own where the build does without it. What ed25519.h is made of; nobody else calls it. Pure
// functions; thread safe.
#pragma once

#include "assay/sign/ed25519_types.h"

namespace assay::ed25519::fast {

PublicKey DerivePublicKey(const Seed& seed);
Signature Sign(const Seed& seed, const PublicKey& public_key, ByteSpan message);
bool Verify(const PublicKey& public_key, ByteSpan message, const Signature& signature);
bool IsUsable(const PublicKey& public_key);

}  // namespace assay::ed25519::fast
