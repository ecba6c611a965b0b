#include "assay/sign/ed25519_field.h"

namespace assay::ed25519 {
namespace {

__extension__ using Wide = unsigned __int128;

Wide Times(std::uint64_t a, std::uint64_t b) { return static_cast<Wide>(a) * b; }

// Brings the columns of a product under 2^52.
Fe CarryColumns(std::array<Wide, 5> column) {
  Fe out;
  Wide carry = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    column[i] += carry;
    out.limb[i] = static_cast<std::uint64_t>(column[i]) & kLimbMask;
    carry = column[i] >> 51;
  }
  // The last column has no product that came back, so its carry is below 2^56 and 19 times it fits.
  out.limb[0] += 19 * static_cast<std::uint64_t>(carry);
  out.limb[1] += out.limb[0] >> 51;
  out.limb[0] &= kLimbMask;
  return out;
}

// a^(2^count).
Fe SquareTimes(Fe a, int count) {
  for (int i = 0; i < count; ++i) a = Square(a);
  return a;
}

// a^(2^250 - 1): what the two powers that are needed have in common. Doubling the number of ones in the exponent costs one product.
Fe Power250Ones(const Fe& a) {
  const Fe ones2 = Square(a) * a;
  const Fe ones4 = SquareTimes(ones2, 2) * ones2;
  const Fe ones5 = Square(ones4) * a;
  const Fe ones10 = SquareTimes(ones5, 5) * ones5;
  const Fe ones20 = SquareTimes(ones10, 10) * ones10;
  const Fe ones40 = SquareTimes(ones20, 20) * ones20;
  const Fe ones50 = SquareTimes(ones40, 10) * ones10;
  const Fe ones100 = SquareTimes(ones50, 50) * ones50;
  const Fe ones200 = SquareTimes(ones100, 100) * ones100;
  return SquareTimes(ones200, 50) * ones50;
}

}  // namespace

// Limb i times limb j counts 2^(51(i+j)); from 2^255 on it comes back at the bottom, times 19. The sums are written out because the
// compiler does not unroll them.
Fe operator*(const Fe& a, const Fe& b) {
  const auto [a0, a1, a2, a3, a4] = a.limb;
  const auto [b0, b1, b2, b3, b4] = b.limb;
  const std::uint64_t c1 = 19 * b1, c2 = 19 * b2, c3 = 19 * b3, c4 = 19 * b4;
  return CarryColumns({Times(a0, b0) + Times(a1, c4) + Times(a2, c3) + Times(a3, c2) + Times(a4, c1),
                       Times(a0, b1) + Times(a1, b0) + Times(a2, c4) + Times(a3, c3) + Times(a4, c2),
                       Times(a0, b2) + Times(a1, b1) + Times(a2, b0) + Times(a3, c4) + Times(a4, c3),
                       Times(a0, b3) + Times(a1, b2) + Times(a2, b1) + Times(a3, b0) + Times(a4, c4),
                       Times(a0, b4) + Times(a1, b3) + Times(a2, b2) + Times(a3, b1) + Times(a4, b0)});
}

Fe Square(const Fe& a) {
  const auto [a0, a1, a2, a3, a4] = a.limb;
  const std::uint64_t d0 = 2 * a0, d1 = 2 * a1, c3 = 19 * a3, c4 = 19 * a4;
  return CarryColumns({Times(a0, a0) + Times(d1, c4) + Times(2 * a2, c3), Times(d0, a1) + Times(2 * a2, c4) + Times(a3, c3),
                       Times(d0, a2) + Times(a1, a1) + Times(2 * a3, c4), Times(d0, a3) + Times(d1, a2) + Times(a4, c4),
                       Times(d0, a4) + Times(d1, a3) + Times(a2, a2)});
}

// p - 2 = 2^255 - 21: 250 ones, then 01011.
Fe Invert(const Fe& a) {
  const Fe cubed = Square(a) * a;
  return SquareTimes(Power250Ones(a), 5) * (SquareTimes(a, 3) * cubed);
}

// (p - 5) / 8 = 2^252 - 3: 250 ones, then 01.
Fe RootCandidate(const Fe& a) { return SquareTimes(Power250Ones(a), 2) * a; }

std::array<std::uint8_t, 32> Encode(const Fe& a) {
  Fe v = Carry(Carry(a));   // below 2^255 + 2^13, so at most one p too large
  std::uint64_t over = 19;  // v >= p exactly when v + 19 reaches 2^255
  for (std::uint64_t limb : v.limb) over = (limb + over) >> 51;
  std::uint64_t carry = 19 * over;
  for (std::uint64_t& limb : v.limb) {
    limb += carry;
    carry = limb >> 51;
    limb &= kLimbMask;
  }
  std::array<std::uint8_t, 32> bytes{};
  for (std::size_t bit = 0; bit < 255; ++bit) {
    const std::uint64_t set = v.limb[bit / 51] >> (bit % 51) & 1;
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] | set << (bit % 8));
  }
  return bytes;
}

Fe DecodeFe(std::span<const std::uint8_t, 32> bytes) {
  Fe v;
  for (std::size_t bit = 0; bit < 255; ++bit) {
    v.limb[bit / 51] |= static_cast<std::uint64_t>(bytes[bit / 8] >> (bit % 8) & 1) << (bit % 51);
  }
  return v;
}

bool IsZero(const Fe& a) { return Encode(a) == std::array<std::uint8_t, 32>{}; }
bool IsOdd(const Fe& a) { return (Encode(a)[0] & 1) != 0; }

}  // namespace assay::ed25519
