// Ed25519 (RFC 8032) with one verification rule (docs/formats/log.md, "Keys"): S < L, public key and R canonical and not of small
// order, and the equation without cofactor. The rule leaves one answer for each signature on every machine; RFC 8032 leaves some
// open.
//
// libsodium, whose rule it is, signs and verifies where it is linked. Builds for other processors, and binaries that must run where
// it is not installed, have our own (ed25519_own.h). Both are held to the same vectors. Pure functions; thread safe.
#pragma once

#include "assay/sign/ed25519_types.h"

namespace assay::ed25519 {

PublicKey DerivePublicKey(const Seed& seed);
Signature Sign(const Seed& seed, const PublicKey& public_key, ByteSpan message);  // the public key must be the seed's
bool Verify(const PublicKey& public_key, ByteSpan message, const Signature& signature);
// Whether the rule accepts any signature at all under this key.
bool IsUsable(const PublicKey& public_key);

}  // namespace assay::ed25519
