// A binary range coder with adaptive probabilities: bits that are likely cost little, and how likely they are is learned from those before (docs/formats/rounding.md).
//
// Encoder and decoder go through the same states; what is decoded from bytes that no encoder wrote is arbitrary, but costs no more time, and Whole() tells. Not thread safe.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/check.h"

namespace assay::rounding {

// The probability that a bit is zero: (zeros + 1/2) / (bits + 1) at first, a moving average later.
class BitModel {
 public:
  static constexpr std::uint32_t kOne = 65536;
  static constexpr std::uint32_t kLeast = 128;  // zero() stays between it and kOne - kLeast
  static constexpr std::uint32_t kMemory = 254;

  std::uint32_t zero() const { return zero_; }
  void Update(bool bit) {
    const std::uint32_t step = Quotient(bit ? zero_ : kOne - zero_, seen_);
    zero_ = static_cast<std::uint16_t>(bit ? zero_ - step : zero_ + step);
    seen_ = static_cast<std::uint16_t>(seen_ + (seen_ < kMemory ? 1 : 0));
  }
  // x / (seen + 2), rounded down, for x up to kOne. The reciprocal is less than one unit too large, so that the product is less than 2^-10 too large: by less than any quotient is from the integer
  // above it.
  static std::uint32_t Quotient(std::uint32_t x, std::uint32_t seen) {
    return static_cast<std::uint32_t>((std::uint64_t{x} * kReciprocal[seen]) >> kShift);
  }

 private:
  static constexpr int kShift = 26;
  static constexpr std::array<std::uint32_t, kMemory + 1> kReciprocal = [] {
    std::array<std::uint32_t, kMemory + 1> table{};
    for (std::uint32_t seen = 0; seen <= kMemory; ++seen) table[seen] = ((1u << kShift) + seen + 1) / (seen + 2);
    return table;
  }();
  std::uint16_t zero_ = kOne / 2;
  std::uint16_t seen_ = 0;
};

namespace internal {

inline constexpr int kPiece = 16;  // raw bits that are coded at a time, and bits that move in or out at a time

inline std::uint32_t Bound(std::uint32_t range, std::uint32_t zero) {
  return static_cast<std::uint32_t>((std::uint64_t{range} * zero) >> 16);
}

}  // namespace internal

class BitEncoder {
 public:
  // `expected` bytes are made room for.
  explicit BitEncoder(std::size_t expected) { digits_.reserve(expected / 2 + 1); }

  // The lower part of the range is zero's, the upper one's.
  void Bit(BitModel& model, bool bit) {
    const std::uint32_t bound = internal::Bound(range_, model.zero());
    low_ += bit ? bound : 0;
    range_ = bit ? range_ - bound : bound;
    model.Update(bit);
    Normalise();
  }
  // The last `count` bits of value, with even odds.
  void Raw(std::uint64_t value, int count) {
    for (; count > internal::kPiece; count -= internal::kPiece) RawPiece(value >> (count - internal::kPiece), internal::kPiece);
    RawPiece(value, count);
  }
  // Every number from low_ up to low_ + range_ would do; it is the one with 31 zeros at the end, which are left out.
  Bytes Finish() {
    constexpr std::uint64_t kUnit = std::uint64_t{1} << 31;
    const std::uint64_t last = (low_ + (kUnit - 1)) / kUnit;
    const std::size_t bits = digits_.size() * internal::kPiece + static_cast<std::size_t>(pending_) + 1;
    digits_.push_back(static_cast<std::uint32_t>(last << (internal::kPiece - 1 - pending_)));
    Bytes bytes(2 * digits_.size());
    std::uint32_t carry = 0;
    for (std::size_t i = digits_.size(); i-- > 0;) {
      const std::uint32_t digit = digits_[i] + carry;
      carry = digit >> internal::kPiece;
      bytes[2 * i] = static_cast<std::uint8_t>(digit >> 8);
      bytes[2 * i + 1] = static_cast<std::uint8_t>(digit);
    }
    ASSAY_CHECK(carry == 0);
    bytes.resize((bits + 7) / 8);
    return bytes;
  }

 private:
  void RawPiece(std::uint64_t value, int count) {
    range_ >>= count;
    low_ += (value & ((1u << count) - 1)) * range_;
    Normalise();
  }
  // Before it pending_ < 16 and range_ >= 2^15, after it pending_ < 16 and range_ >= 2^31.
  void Normalise() {
    const int shift = std::countl_zero(range_);
    range_ <<= shift;
    low_ <<= shift;
    pending_ += shift;
    if (pending_ < internal::kPiece) return;
    pending_ -= internal::kPiece;
    digits_.push_back(static_cast<std::uint32_t>(low_ >> (32 + pending_)));
    low_ &= (std::uint64_t{1} << (32 + pending_)) - 1;
  }

  std::vector<std::uint32_t> digits_;  // of 16 bits and a carry into the one before
  std::uint64_t low_ = 0;              // 32 bits, above them pending_ bits, above them a carry
  std::uint32_t range_ = 0xffffffff;
  int pending_ = 0;
};

class BitDecoder {
 public:
  explicit BitDecoder(ByteSpan bytes) : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) window_ = (window_ << internal::kPiece) | NextPiece();
    possible_ = Code() < range_;
  }
  bool Bit(BitModel& model) {
    const std::uint32_t bound = internal::Bound(range_, model.zero());
    const bool bit = Code() >= bound;
    window_ -= std::uint64_t{bit ? bound : 0} << 32;
    range_ = bit ? range_ - bound : bound;
    model.Update(bit);
    Normalise();
    return bit;
  }
  std::uint64_t Raw(int count) {
    std::uint64_t value = 0;
    for (; count > internal::kPiece; count -= internal::kPiece)
      value = (value << internal::kPiece) | RawPiece(internal::kPiece);
    return (value << count) | RawPiece(count);
  }
  // Whether an encoder that was given what was decoded so far would finish with exactly these bytes.
  bool Whole() const {
    const std::size_t bits = 8 * at_ - 32 - static_cast<std::size_t>(ahead_) + 1;
    if (!possible_ || bytes_.size() != (bits + 7) / 8) return false;
    const auto padding = static_cast<std::uint32_t>(8 * bytes_.size() - bits);
    return (bytes_.back() & ((1u << padding) - 1)) == 0 && Code() < (1u << 31);
  }

 private:
  std::uint32_t Code() const { return static_cast<std::uint32_t>(window_ >> 32); }
  std::uint32_t RawPiece(int count) {
    range_ >>= count;
    std::uint32_t value = Code() / range_;
    if ((value >> count) != 0) {  // what is left over when the range is divided
      possible_ = false;
      value = 0;
    }
    window_ -= std::uint64_t{value * range_} << 32;
    Normalise();
    return value;
  }
  void Normalise() {
    const int shift = std::countl_zero(range_);
    range_ <<= shift;
    window_ <<= shift;
    ahead_ -= shift;
    if (ahead_ >= internal::kPiece) return;
    ahead_ += internal::kPiece;
    window_ |= std::uint64_t{NextPiece()} << (32 - ahead_);
  }
  // Zeros follow the last byte.
  std::uint32_t NextPiece() {
    const std::uint32_t high = at_ < bytes_.size() ? bytes_[at_] : 0;
    const std::uint32_t low = at_ + 1 < bytes_.size() ? bytes_[at_ + 1] : 0;
    at_ += 2;
    return (high << 8) | low;
  }

  ByteSpan bytes_;
  std::size_t at_ = 0;
  std::uint64_t window_ = 0;  // the coded number from here on less low: 32 bits, below them ahead_ bits that come next
  std::uint32_t range_ = 0xffffffff;
  int ahead_ = 32;
  bool possible_ = true;  // the coded number is within the range
};

}  // namespace assay::rounding
