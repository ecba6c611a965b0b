// Lines of values as digits, in plain integers: blocks with their scales, and sums of products (docs/NUMERICS.md, section 7).
//
// A kernel keeps the lines that it meets again, because cutting costs more than multiplying. Not thread safe: one per call.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "assay/numerics/digits.h"

namespace assay::ref {

inline constexpr std::size_t kPlaces = 3;

inline std::uint32_t MagnitudeBits(float x) { return std::bit_cast<std::uint32_t>(x) & 0x7fffffffu; }

// Blocks one after the other.
struct DigitLine {
  explicit DigitLine(int n) : digits(n) {}

  int digits;
  std::array<std::vector<std::int16_t>, kPlaces>
      places;                 // of all values, the lowest place first; of two digits the third place is empty
  std::vector<float> scales;  // of each block

  // A block of the values value(0), value(1), ...
  template <class Value>
  void Append(std::int64_t count, Value value) {
    std::uint32_t largest = 0;
    for (std::int64_t k = 0; k < count; ++k) largest = std::max(largest, MagnitudeBits(value(k)));
    const std::uint32_t exponent = numerics::DigitExponent(largest);
    const float factor = numerics::DigitFactor(exponent, digits);
    scales.push_back(numerics::DigitScale(exponent, digits));
    for (std::int64_t k = 0; k < count; ++k) {
      PushInteger(exponent == 0 ? 0 : numerics::DigitInteger(value(k), factor));
    }
  }
  // A value by its digits, of a block whose scale is known elsewhere.
  void PushInteger(std::int32_t integer) {
    const std::uint32_t bytes = numerics::DigitBytes(integer);
    for (int place = 0; place < digits; ++place) {
      places[static_cast<std::size_t>(place)].push_back(static_cast<std::int16_t>(numerics::DigitAt(bytes, place)));
    }
  }
};

// Sums of products of digits by their orders, as 256 · order 0 + order 1 and order 2. Modulo 2^32; with blocks of at most 256 values nothing wraps.
struct OrderSums {
  std::uint32_t upper = 0, lower = 0;

  float Joined(int digits) const {
    const auto high = std::bit_cast<std::int32_t>(upper);
    return digits == 2 ? numerics::JoinTwo(high) : numerics::JoinThree(high, std::bit_cast<std::int32_t>(lower));
  }
};

// Of `count` values of each, from a_at and b_at on.
inline OrderSums Multiply(const DigitLine& a, std::int64_t a_at, const DigitLine& b, std::int64_t b_at, std::int64_t count) {
  const auto product = [&](std::size_t i, std::size_t j) {
    const std::int16_t* x = a.places[i].data() + a_at;
    const std::int16_t* y = b.places[j].data() + b_at;
    std::int32_t sum = 0;
    for (std::int64_t k = 0; k < count; ++k) sum += std::int32_t{x[k]} * y[k];
    return static_cast<std::uint32_t>(sum);
  };
  if (a.digits == 2) return {256 * product(1, 1) + product(1, 0) + product(0, 1), 0};
  return {256 * product(2, 2) + product(2, 1) + product(1, 2), product(2, 0) + product(1, 1) + product(0, 2)};
}

// total after one more block of both.
inline float AddProduct(const OrderSums& sums, int digits, float scale_a, float scale_b, float total) {
  return total + numerics::DigitBlockSum(sums.Joined(digits), scale_a, scale_b);
}

// Lines by number, each made when it is first asked for.
class DigitLines {
 public:
  template <class Make>
  const DigitLine& At(std::int64_t number, Make make) {
    const auto found = lines_.find(number);
    return found != lines_.end() ? found->second : lines_.emplace(number, make()).first->second;
  }

 private:
  std::unordered_map<std::int64_t, DigitLine> lines_;
};

// How many values block `block` of a line of `length` has.
inline std::int64_t DigitBlockSize(std::int64_t length, std::int64_t block) {
  return std::min(numerics::kDigitBlock, length - block * numerics::kDigitBlock);
}

// Appends value(0) … value(length - 1) in blocks of 256.
template <class Value>
void AppendBlocks(DigitLine& line, std::int64_t length, Value value) {
  for (std::int64_t begin = 0; begin < length; begin += numerics::kDigitBlock) {
    line.Append(std::min(numerics::kDigitBlock, length - begin), [&](std::int64_t k) { return value(begin + k); });
  }
}

}  // namespace assay::ref
