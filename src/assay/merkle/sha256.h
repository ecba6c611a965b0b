// SHA-256 (FIPS 180-4): the one hash of Assay. Uses the CPU's SHA instructions where it has them; the digest is the same.
//
// Sha256 is a stream: Update any number of times, then Finish once. Not synchronised; the free functions are thread safe.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay {

struct Digest {
  std::array<std::uint8_t, 32> bytes{};

  std::string hex() const { return Hex(bytes); }
  static Result<Digest> FromHex(std::string_view text);  // exactly 64 lower-case digits
  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

class Sha256 {
 public:
  Sha256();
  void Update(ByteSpan bytes);
  Digest Finish();

 private:
  std::array<std::uint32_t, 8> state_;
  std::array<std::uint8_t, 64> block_{};
  std::uint64_t length_ = 0;  // bytes seen
};

Digest HashBytes(ByteSpan bytes);

namespace sha256 {

// Folds `blocks` blocks of 64 bytes into the state.
using CompressFn = void (*)(std::uint32_t state[8], const std::uint8_t* data, std::size_t blocks);

void CompressPortable(std::uint32_t state[8], const std::uint8_t* data, std::size_t blocks);
// The implementation with the CPU's instructions, or null where this machine or build has none.
CompressFn CompressHardware();

}  // namespace sha256
}  // namespace assay
