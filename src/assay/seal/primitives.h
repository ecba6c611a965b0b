// The cryptography of sealed files: X25519, ChaCha20-Poly1305 (RFC 8439), HMAC and HKDF over SHA-256, all of them libsodium's.
//
// A build for another processor has no libsodium. It still reads keys' texts, headers and armor, but whatever needs a key
// returns the error of CheckCanSeal; callers of the functions below have asked it first, and in such a build they are broken
// invariants. Unlike signatures, which every judge has to check, sealing is for the machines that train, so there is no second
// implementation. Pure functions, apart from randomness; thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/base/result.h"
#include "assay/seal/secret.h"

namespace assay::seal {

bool CanSeal();
Status CheckCanSeal();  // one line that says why this build cannot

using Point = std::array<std::uint8_t, 32>;  // of Curve25519, its u-coordinate
using Nonce = std::array<std::uint8_t, 12>;
using Mac = std::array<std::uint8_t, 32>;

inline constexpr std::size_t kTagSize = 16;  // by which ciphertext is longer

// Fills the span. File keys and shares that anybody could guess or that come twice give the plaintext away: only tests put
// another in the place of the system's.
using Randomness = std::function<void(std::span<std::uint8_t> out)>;
void SystemRandomness(std::span<std::uint8_t> out);

Point X25519Base(const Secret<32>& scalar);
// False when the shared secret is zero, which a point of small order gives with every scalar.
bool X25519(const Secret<32>& scalar, const Point& point, Secret<32>& shared);

Mac HmacSha256(ByteSpan key, ByteSpan message);
Secret<32> HkdfSha256(ByteSpan key_material, ByteSpan salt, std::string_view info);
bool SameMac(const Mac& a, const Mac& b);  // in a time that does not depend on where they differ

// `out` is kTagSize longer than `plain`.
void Encrypt(const Secret<32>& key, const Nonce& nonce, ByteSpan plain, std::span<std::uint8_t> out);
// `out` is kTagSize shorter than `sealed` and apart from it. False, with zeros in `out` and nothing of the plaintext, when the
// tag does not fit.
bool Decrypt(const Secret<32>& key, const Nonce& nonce, ByteSpan sealed, std::span<std::uint8_t> out);

}  // namespace assay::seal
