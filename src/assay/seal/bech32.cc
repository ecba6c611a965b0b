#include "assay/seal/bech32.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/seal/secret.h"

namespace assay::seal {
namespace {

constexpr std::string_view kDigits = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
constexpr std::size_t kChecksum = 6;

bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
char Lower(char c) { return IsUpper(c) ? static_cast<char>(c - 'A' + 'a') : c; }
bool IsVisible(char c) { return c > ' ' && c <= '~'; }

// The remainder of BIP 173's code over values of five bits.
class Checksum {
 public:
  void Add(std::uint32_t value) {
    static constexpr std::uint32_t kGenerator[] = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3};
    const std::uint32_t top = rest_ >> 25;
    rest_ = (rest_ & 0x1ffffff) << 5 ^ value;
    for (std::uint32_t i = 0; i < 5; ++i) rest_ ^= (top >> i & 1) != 0 ? kGenerator[i] : 0;
  }
  void AddPrefix(std::string_view prefix) {
    for (const char c : prefix) Add(static_cast<std::uint8_t>(Lower(c)) >> 5u);
    Add(0);
    for (const char c : prefix) Add(static_cast<std::uint8_t>(Lower(c)) & 31u);
  }
  std::uint32_t rest() const { return rest_; }

 private:
  std::uint32_t rest_ = 1;
};

// The bytes of the groups; false when bits are left over that are not padding.
bool Regroup(ByteSpan groups, Bytes& data) {
  data.reserve(groups.size() * 5 / 8);  // no second copy of a secret
  std::uint32_t held = 0, bits = 0;
  for (const std::uint8_t group : groups) {
    held = (held << 5 | group) & 0xfff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    data.push_back(static_cast<std::uint8_t>(held >> bits));
  }
  return bits < 5 && (held & ((1u << bits) - 1)) == 0;
}

}  // namespace

std::string ToBech32(std::string_view prefix, ByteSpan data) {
  ASSAY_CHECK(!prefix.empty() && std::all_of(prefix.begin(), prefix.end(), [](char c) { return IsVisible(c) && !IsUpper(c); }));
  std::string text;
  text.reserve(prefix.size() + 1 + (data.size() * 8 + 4) / 5 + kChecksum);
  text += prefix;
  text += '1';
  Checksum sum;
  sum.AddPrefix(prefix);
  const auto put = [&](std::uint32_t group) {
    sum.Add(group);
    text += kDigits[group];
  };
  std::uint32_t held = 0, bits = 0;
  for (const std::uint8_t byte : data) {
    held = (held << 8 | byte) & 0xfff;
    for (bits += 8; bits >= 5;) {
      bits -= 5;
      put(held >> bits & 31);
    }
  }
  if (bits > 0) put(held << (5 - bits) & 31);
  Checksum end = sum;
  for (std::size_t i = 0; i < kChecksum; ++i) end.Add(0);
  for (std::uint32_t i = 0; i < kChecksum; ++i) text += kDigits[(end.rest() ^ 1) >> 5 * (5 - i) & 31];
  return text;
}

Result<Bech32> FromBech32(std::string_view text) {
  const bool lower = std::any_of(text.begin(), text.end(), IsLower), upper = std::any_of(text.begin(), text.end(), IsUpper);
  if (lower && upper) return Err("it mixes lower and upper case");
  const std::size_t one = text.rfind('1');
  if (one == std::string_view::npos || one == 0) return Err("it has no prefix that '1' ends");
  Bech32 out{.prefix = std::string(text.substr(0, one)), .data = {}};
  if (!std::all_of(out.prefix.begin(), out.prefix.end(), IsVisible))
    return Err("its prefix is not of visible ASCII characters");
  const std::string_view digits = text.substr(one + 1);
  if (digits.size() < kChecksum) return Err("it ends before its checksum");
  SecretBuffer groups(digits.size());
  Checksum sum;
  sum.AddPrefix(out.prefix);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t value = kDigits.find(Lower(digits[i]));
    if (value == std::string_view::npos) return Err("character {} is none of Bech32's", one + 1 + i + 1);
    groups.span()[i] = static_cast<std::uint8_t>(value);
    sum.Add(static_cast<std::uint32_t>(value));
  }
  if (sum.rest() != 1) return Err("its checksum does not fit: a character is wrong or missing");
  if (!Regroup(groups.span().first(digits.size() - kChecksum), out.data)) {
    Wipe(out.data);
    return Err("its last character holds bits that belong to no byte");
  }
  return out;
}

}  // namespace assay::seal
