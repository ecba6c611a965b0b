// Arithmetic modulo p = 2^255 - 19, the field of Ed25519. No function branches on, or indexes by, the values it is given, except
// where it says so; exponents are constants.
//
// Five limbs of 51 bits, each below 2^52 between operations: a product of two then fits 128 bits with room for the sums of a
// column, and a difference stays positive when 4p is added first. Pure functions; thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace assay::ed25519 {

struct Fe {
  std::array<std::uint64_t, 5> limb{};
};

inline constexpr std::uint64_t kLimbMask = (std::uint64_t{1} << 51) - 1;
inline constexpr Fe kZero{};
inline constexpr Fe kOne{{1, 0, 0, 0, 0}};

// Brings limbs below 2^63 under 2^52.
constexpr Fe Carry(Fe a) {
  std::uint64_t carry = 0;
  for (std::uint64_t& limb : a.limb) {
    limb += carry;
    carry = limb >> 51;
    limb &= kLimbMask;
  }
  a.limb[0] += 19 * carry;
  return a;
}

constexpr Fe operator+(const Fe& a, const Fe& b) {
  Fe sum;
  for (std::size_t i = 0; i < 5; ++i) sum.limb[i] = a.limb[i] + b.limb[i];
  return Carry(sum);
}

constexpr Fe operator-(const Fe& a, const Fe& b) {
  constexpr std::uint64_t kFourP = 4 * kLimbMask;  // the upper limbs of 4p; the lowest is 4 * 18 less
  Fe difference;
  for (std::size_t i = 0; i < 5; ++i) difference.limb[i] = a.limb[i] + (i == 0 ? kFourP - 72 : kFourP) - b.limb[i];
  return Carry(difference);
}

Fe operator*(const Fe& a, const Fe& b);
Fe Square(const Fe& a);
Fe Invert(const Fe& a);         // of 0: 0
Fe RootCandidate(const Fe& a);  // a^((p - 5) / 8)

// The one encoding of a value: 32 bytes, little-endian, below p.
std::array<std::uint8_t, 32> Encode(const Fe& a);
// The lower 255 bits, reduced: also accepts what Encode never writes.
Fe DecodeFe(std::span<const std::uint8_t, 32> bytes);

// These two are for public values.
bool IsZero(const Fe& a);
bool IsOdd(const Fe& a);
// `b` where `mask` is all ones, `a` where it is 0.
constexpr Fe Select(const Fe& a, const Fe& b, std::uint64_t mask) {
  Fe out;
  for (std::size_t i = 0; i < 5; ++i) out.limb[i] = a.limb[i] ^ (mask & (a.limb[i] ^ b.limb[i]));
  return out;
}

}  // namespace assay::ed25519
