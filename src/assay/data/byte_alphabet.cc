#include "assay/data/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "assay/data/unicode.h"

namespace assay {
namespace {

// A byte is written as the character of the same number if that is printable, and the others, in order, as U+0100 upwards.
constexpr bool Printable(std::uint32_t b) {
  return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || (b >= 0xae && b <= 0xff);
}

constexpr std::size_t kHidden = 68;
constexpr std::array<std::uint8_t, kHidden> kHiddenBytes = [] {
  std::array<std::uint8_t, kHidden> out{};
  std::size_t next = 0;
  for (std::uint32_t b = 0; b < 256; ++b) {
    if (!Printable(b)) out[next++] = static_cast<std::uint8_t>(b);
  }
  return out;
}();

std::optional<std::uint8_t> ByteOf(std::uint32_t code_point) {
  if (code_point < 256) return Printable(code_point) ? std::optional(static_cast<std::uint8_t>(code_point)) : std::nullopt;
  if (code_point < 256 + kHidden) return kHiddenBytes[code_point - 256];
  return std::nullopt;
}

}  // namespace

std::optional<std::string> BytesOfAlphabet(std::string_view written) {
  std::string out;
  while (!written.empty()) {
    const CodePoint c = DecodeUtf8(written);
    const auto byte = ByteOf(c.value);
    if (!byte) return std::nullopt;
    out.push_back(static_cast<char>(*byte));
    written.remove_prefix(c.length);
  }
  return out;
}

}  // namespace assay
