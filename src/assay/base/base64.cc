#include "assay/base/base64.h"

#include <cstdint>

namespace assay {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int DigitValue(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

// How many of the last four characters are padding: 0, 1 or 2. Padding elsewhere is no digit and refused as such.
std::size_t Padding(std::string_view text) {
  if (text.ends_with("==")) return 2;
  return text.ends_with('=') ? 1 : 0;
}

}  // namespace

std::string Base64(ByteSpan bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t held = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < held ? bytes[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) text.push_back(k <= held ? kDigits[group >> (18 - 6 * k) & 63] : '=');
  }
  return text;
}

Result<Bytes> FromBase64(std::string_view text) {
  if (text.size() % 4 != 0) return Err("expected base64 in groups of four characters, got {} characters", text.size());
  const std::size_t digits = text.size() - Padding(text);
  Bytes bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t held = 0;
  int bits = 0;  // of `held` that were not written yet
  for (std::size_t i = 0; i < digits; ++i) {
    const int value = DigitValue(text[i]);
    if (value < 0) return Err("expected base64, but character {} is none of its digits", i);
    held = (held << 6 | static_cast<std::uint32_t>(value)) & 0xffff;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::uint8_t>(held >> bits));
    }
  }
  if ((held & ((1u << bits) - 1)) != 0) return Err("expected base64 whose unused last bits are zero");
  return bytes;
}

}  // namespace assay
