// A binary range coder with adaptive probabilities: bits that are likely cost little, and how likely they are is learned from those before (docs/formats/rounding.md).
//
// Encoder and decoder go through the same states; what is decoded from bytes that no encoder wrote is arbitrary, but costs no more time. Not thread safe.
#pragma once

#include <cstdint>

#include "assay/base/bytes.h"

namespace assay::rounding {

// The probability that a bit is zero: (zeros + 1/2) / (bits + 1) at first, a moving average later.
class BitModel {
 public:
  static constexpr std::uint32_t kOne = 65536;

  std::uint32_t zero() const { return zero_; }
  void Update(bool bit) {
    zero_ = bit ? zero_ - zero_ / (seen_ + 2) : zero_ + (kOne - zero_) / (seen_ + 2);
    if (zero_ < kLeast) zero_ = kLeast;
    if (zero_ > kOne - kLeast) zero_ = kOne - kLeast;
    if (seen_ < kMemory) ++seen_;
  }

 private:
  static constexpr std::uint32_t kLeast = 64;
  static constexpr std::uint32_t kMemory = 254;
  std::uint32_t zero_ = kOne / 2;
  std::uint32_t seen_ = 0;
};

class BitEncoder {
 public:
  void Bit(BitModel& model, bool bit) {
    const std::uint32_t bound = Bound(range_, model.zero());
    Take(bit, bound);
    model.Update(bit);
  }
  // `count` bits of even odds, the highest first.
  void Raw(std::uint64_t value, int count) {
    for (int i = count - 1; i >= 0; --i) Take(((value >> i) & 1) != 0, range_ / 2);
  }
  Bytes Finish() {
    for (int i = 0; i < 5; ++i) ShiftOut();
    return std::move(bytes_);
  }
  static std::uint32_t Bound(std::uint32_t range, std::uint32_t zero) {
    return static_cast<std::uint32_t>((std::uint64_t{range} * zero) >> 16);
  }

 private:
  // The lower part of the range is zero's, the upper one's.
  void Take(bool bit, std::uint32_t bound) {
    if (bit) {
      low_ += bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    while (range_ < (1u << 24)) {
      range_ <<= 8;
      ShiftOut();
    }
  }
  // Moves the top byte of low out. A run of 0xff waits, because a carry may still go through it.
  void ShiftOut() {
    if (low_ < 0xff000000u || low_ > 0xffffffffu) {
      const auto carry = static_cast<std::uint8_t>(low_ >> 32);
      if (started_) bytes_.push_back(static_cast<std::uint8_t>(held_ + carry));
      for (; waiting_ > 0; --waiting_) bytes_.push_back(static_cast<std::uint8_t>(0xff + carry));
      held_ = static_cast<std::uint8_t>(low_ >> 24);
      started_ = true;
    } else {
      ++waiting_;
    }
    low_ = (low_ << 8) & 0xffffffffu;
  }

  Bytes bytes_;
  std::uint64_t low_ = 0;  // 33 bits: the top one is a carry
  std::uint32_t range_ = 0xffffffff;
  std::uint64_t waiting_ = 0;
  std::uint8_t held_ = 0;
  bool started_ = false;
};

class BitDecoder {
 public:
  explicit BitDecoder(ByteSpan bytes) : bytes_(bytes) {
    for (int i = 0; i < 4; ++i) code_ = (code_ << 8) | NextByte();
  }
  bool Bit(BitModel& model) {
    const bool bit = Take(BitEncoder::Bound(range_, model.zero()));
    model.Update(bit);
    return bit;
  }
  std::uint64_t Raw(int count) {
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i) value = (value << 1) | (Take(range_ / 2) ? 1 : 0);
    return value;
  }
  bool exhausted() const { return exhausted_; }  // more was asked for than there is

 private:
  bool Take(std::uint32_t bound) {
    const bool bit = code_ >= bound;
    if (bit) {
      code_ -= bound;
      range_ -= bound;
    } else {
      range_ = bound;
    }
    while (range_ < (1u << 24)) {
      range_ <<= 8;
      code_ = (code_ << 8) | NextByte();
    }
    return bit;
  }
  std::uint8_t NextByte() {
    if (at_ < bytes_.size()) return bytes_[at_++];
    exhausted_ = true;
    return 0;
  }

  ByteSpan bytes_;
  std::size_t at_ = 0;
  std::uint32_t range_ = 0xffffffff;
  std::uint32_t code_ = 0;
  bool exhausted_ = false;
};

}  // namespace assay::rounding
