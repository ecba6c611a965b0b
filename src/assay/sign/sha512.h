// SHA-512 (FIPS 180-4), which Ed25519 is defined over; everything else of Assay hashes with SHA-256.
//
// A stream: Update any number of times, then Finish once. What it held is wiped at the end, since keys pass through. Not
// synchronised.
#pragma once

#include <array>
#include <cstdint>

#include "assay/base/bytes.h"

namespace assay {

class Sha512 {
 public:
  using Value = std::array<std::uint8_t, 64>;
  Sha512();
  Sha512(const Sha512&) = delete;
  Sha512& operator=(const Sha512&) = delete;
  ~Sha512();
  Sha512& Update(ByteSpan bytes);
  Value Finish();

 private:
  void Compress(const std::uint8_t* block);
  std::array<std::uint64_t, 8> state_;
  std::array<std::uint8_t, 128> block_{};
  std::uint64_t length_ = 0;  // bytes seen
};

}  // namespace assay
