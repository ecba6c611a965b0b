#include "assay/sign/ed25519_point.h"

#include <algorithm>
#include <vector>

#include "assay/base/check.h"

namespace assay::ed25519 {
namespace {

// -121665/121666, twice that, and a root of -1. ed25519_test.cc checks what they stand for.
constexpr Fe kD{{0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb, 0x52036cee2b6ff}};
constexpr Fe kTwoD{{0x69b9426b2f159, 0x35050762add7a, 0x3cf44c0038052, 0x6738cc7407977, 0x2406d9dc56dff}};
constexpr Fe kRootOfMinusOne{{0x61b274a0ea0b0, 0xd5a5fc8f189d, 0x7ef5e9cbd0c60, 0x78595a6804c9e, 0x2b8324804fc1d}};

bool Equal(const Fe& a, const Fe& b) { return IsZero(a - b); }

Point Select(const Point& p, const Point& q, std::uint64_t mask) {
  return {Select(p.x, q.x, mask), Select(p.y, q.y, mask), Select(p.z, q.z, mask), Select(p.t, q.t, mask)};
}

// 0 .. 15 times a point.
using Multiples = std::array<Point, 16>;

Multiples MultiplesOf(const Point& p) {
  Multiples table;
  for (std::size_t i = 1; i < 16; ++i) table[i] = Add(table[i - 1], p);
  return table;
}

// The digit of `scalar` to base 16, 0 .. 63.
std::uint64_t Digit(const Scalar& scalar, std::size_t digit) { return scalar[digit / 16] >> (4 * (digit % 16)) & 15; }

// table[index], reading all of the table whatever the index is.
Point LookUp(const Multiples& table, std::uint64_t index) {
  Point found = table[0];
  for (std::uint64_t i = 1; i < 16; ++i) {
    const std::uint64_t differs = i ^ index;  // below 16: minus one has its top bit set only for zero
    found = Select(found, table[static_cast<std::size_t>(i)], 0 - ((differs - 1) >> 63));
  }
  return found;
}

}  // namespace

Point Add(const Point& p, const Point& q) {
  const Fe a = (p.y - p.x) * (q.y - q.x);
  const Fe b = (p.y + p.x) * (q.y + q.x);
  const Fe c = p.t * kTwoD * q.t;
  const Fe zz = p.z * q.z;
  const Fe d = zz + zz;
  const Fe e = b - a, f = d - c, g = d + c, h = b + a;
  return {e * f, g * h, f * g, e * h};
}

Point Double(const Point& p) {
  const Fe a = Square(p.x), b = Square(p.y), zz = Square(p.z);
  const Fe sum = a + b;
  const Fe e = Square(p.x + p.y) - sum, g = b - a, f = g - (zz + zz), h = kZero - sum;
  return {e * f, g * h, f * g, e * h};
}

Point Negate(const Point& p) { return {kZero - p.x, p.y, p.z, kZero - p.t}; }

Point Multiply(const Scalar& scalar, const Point& p) {
  const Multiples table = MultiplesOf(p);
  Point sum;
  for (std::size_t digit = 64; digit-- > 0;) {
    for (int i = 0; i < 4; ++i) sum = Double(sum);
    sum = Add(sum, LookUp(table, Digit(scalar, digit)));
  }
  return sum;
}

Point MultiplyBase(const Scalar& scalar) {
  static const std::vector<Multiples> kTables = [] {  // of 16^digit times the base point
    std::vector<Multiples> tables;
    Point power = BasePoint();
    for (int digit = 0; digit < 64; ++digit) {
      tables.push_back(MultiplesOf(power));
      power = Add(tables.back()[15], power);
    }
    return tables;
  }();
  Point sum;
  for (std::size_t digit = 0; digit < 64; ++digit) sum = Add(sum, LookUp(kTables[digit], Digit(scalar, digit)));
  return sum;
}

Point BasePoint() {
  std::array<std::uint8_t, 32> bytes;  // y = 4/5, x even
  bytes.fill(0x66);
  bytes[0] = 0x58;
  const std::optional<Point> base = DecodePoint(bytes);
  ASSAY_CHECK(base.has_value());
  return *base;
}

std::array<std::uint8_t, 32> Encode(const Point& p) {
  const Fe inverse = Invert(p.z);
  std::array<std::uint8_t, 32> bytes = Encode(p.y * inverse);
  bytes[31] = static_cast<std::uint8_t>(bytes[31] | (Encode(p.x * inverse)[0] & 1) << 7);
  return bytes;
}

std::optional<Point> DecodePoint(std::span<const std::uint8_t, 32> bytes) {
  const bool odd = (bytes[31] & 0x80) != 0;
  std::array<std::uint8_t, 32> low{};
  std::copy(bytes.begin(), bytes.end(), low.begin());
  low[31] &= 0x7f;
  const Fe y = DecodeFe(low);
  if (Encode(y) != low) return std::nullopt;
  // x^2 = u/v; the candidate is right up to a root of -1, or u/v has no root.
  const Fe u = Square(y) - kOne, v = kD * Square(y) + kOne;
  const Fe v3 = Square(v) * v;
  Fe x = u * v3 * RootCandidate(u * v3 * Square(v) * Square(v));
  const Fe check = v * Square(x);
  if (Equal(check, kZero - u)) {
    x = x * kRootOfMinusOne;
  } else if (!Equal(check, u)) {
    return std::nullopt;
  }
  if (IsZero(x) && odd) return std::nullopt;
  if (IsOdd(x) != odd) x = kZero - x;
  return Point{x, y, kOne, x * y};
}

bool IsSmallOrder(const Point& p) {
  Point multiple = p;
  for (int i = 0; i < 3; ++i) multiple = Double(multiple);
  return IsZero(multiple.x) && Equal(multiple.y, multiple.z);
}

}  // namespace assay::ed25519
