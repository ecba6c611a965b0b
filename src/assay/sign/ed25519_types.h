// What Ed25519 is about: seeds, public keys and signatures, as the bytes of RFC 8032.
#pragma once

#include <array>
#include <cstdint>

#include "assay/base/bytes.h"

namespace assay::ed25519 {

using Seed = std::array<std::uint8_t, 32>;
using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

}  // namespace assay::ed25519
