// Ed25519 (RFC 8032) with one verification rule (docs/formats/log.md, "Keys"): S < L, public key and R canonical and not of small
// order, and the equation without cofactor. The rule leaves one answer for each signature on every machine; RFC 8032 leaves some
// open.
//
// Written here and not taken from a library so that every build, also for other processors, has the same. Signing takes the same
// path whatever the key is and wipes what it derived from it. Pure functions; thread safe.
#pragma once

#include <array>
#include <cstdint>

#include "assay/base/bytes.h"

namespace assay::ed25519 {

using Seed = std::array<std::uint8_t, 32>;
using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

PublicKey DerivePublicKey(const Seed& seed);
Signature Sign(const Seed& seed, const PublicKey& public_key, ByteSpan message);  // the public key must be the seed's
bool Verify(const PublicKey& public_key, ByteSpan message, const Signature& signature);
// Whether the rule accepts any signature at all under this key.
bool IsUsable(const PublicKey& public_key);

}  // namespace assay::ed25519
