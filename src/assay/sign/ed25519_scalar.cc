#include "assay/sign/ed25519_scalar.h"

#include <cstddef>

namespace assay::ed25519 {
namespace {

__extension__ using Wide = unsigned __int128;
using Product = std::array<std::uint64_t, 8>;

// a - L and, in `borrow`, whether that went below zero.
Scalar MinusOrder(const Scalar& a, std::uint64_t& borrow) {
  Scalar out{};
  borrow = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const Wide difference = static_cast<Wide>(a[i]) - kOrder[i] - borrow;
    out[i] = static_cast<std::uint64_t>(difference);
    borrow = static_cast<std::uint64_t>(difference >> 64) & 1;
  }
  return out;
}

// Long division, a bit at a time: slow (some microseconds), but plain and the same for all values. The remainder stays below 2L <
// 2^254.
Scalar Reduce(const Product& a) {
  Scalar rest{};
  for (std::size_t bit = 512; bit-- > 0;) {
    for (std::size_t i = 3; i > 0; --i) rest[i] = rest[i] << 1 | rest[i - 1] >> 63;
    rest[0] = rest[0] << 1 | (a[bit / 64] >> (bit % 64) & 1);
    std::uint64_t borrow = 0;
    const Scalar less = MinusOrder(rest, borrow);
    const std::uint64_t keep = 0 - borrow;
    for (std::size_t i = 0; i < 4; ++i) rest[i] = (rest[i] & keep) | (less[i] & ~keep);
  }
  return rest;
}

}  // namespace

Scalar LoadScalar(std::span<const std::uint8_t, 32> bytes) {
  Scalar a{};
  for (std::size_t i = 0; i < 32; ++i) a[i / 8] |= static_cast<std::uint64_t>(bytes[i]) << (8 * (i % 8));
  return a;
}

std::array<std::uint8_t, 32> StoreScalar(const Scalar& a) {
  std::array<std::uint8_t, 32> bytes{};
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::uint8_t>(a[i / 8] >> (8 * (i % 8)));
  return bytes;
}

bool IsReduced(const Scalar& a) {
  std::uint64_t borrow = 0;
  MinusOrder(a, borrow);
  return borrow != 0;
}

Scalar ReduceHash(std::span<const std::uint8_t, 64> bytes) {
  Product a{};
  for (std::size_t i = 0; i < 64; ++i) a[i / 8] |= static_cast<std::uint64_t>(bytes[i]) << (8 * (i % 8));
  return Reduce(a);
}

Scalar MultiplyAdd(const Scalar& a, const Scalar& b, const Scalar& c) {
  Product sum{c[0], c[1], c[2], c[3], 0, 0, 0, 0};
  for (std::size_t i = 0; i < 4; ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const Wide column = static_cast<Wide>(a[i]) * b[j] + sum[i + j] + carry;
      sum[i + j] = static_cast<std::uint64_t>(column);
      carry = static_cast<std::uint64_t>(column >> 64);
    }
    sum[i + 4] = carry;
  }
  return Reduce(sum);
}

}  // namespace assay::ed25519
