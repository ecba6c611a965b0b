// Arithmetic modulo L, the order of Ed25519's base point: four limbs of 64 bits, below L unless said otherwise. No function
// branches on, or indexes by, the values it is given. Pure functions; thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace assay::ed25519 {

using Scalar = std::array<std::uint64_t, 4>;

// 2^252 + 27742317777372353535851937790883648493
inline constexpr Scalar kOrder = {0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0, 0x1000000000000000};

Scalar LoadScalar(std::span<const std::uint8_t, 32> bytes);  // as it stands, not reduced
std::array<std::uint8_t, 32> StoreScalar(const Scalar& a);
bool IsReduced(const Scalar& a);  // a < L

// A hash, as a little-endian number, modulo L.
Scalar ReduceHash(std::span<const std::uint8_t, 64> bytes);
// a * b + c modulo L. `a` may be any 256-bit number, b and c are below L.
Scalar MultiplyAdd(const Scalar& a, const Scalar& b, const Scalar& c);

}  // namespace assay::ed25519
