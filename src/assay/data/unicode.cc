#include "assay/data/unicode.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace assay {
namespace {

struct CodePointRange {
  std::uint32_t first, last;
};

#include "assay/data/unicode_tables.inc"

inline constexpr CodePointRange kSpaces[] = {{0x9, 0xd},       {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},
                                             {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
                                             {0x205f, 0x205f}, {0x3000, 0x3000}};

bool Contains(std::span<const CodePointRange> ranges, std::uint32_t c) {
  const auto it =
      std::lower_bound(ranges.begin(), ranges.end(), c, [](const CodePointRange& r, std::uint32_t v) { return r.last < v; });
  return it != ranges.end() && it->first <= c;
}

}  // namespace

CodePoint DecodeUtf8(std::string_view text) {
  constexpr CodePoint kInvalid{0xfffd, 1};
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<std::uint8_t>(text[i])); };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return kInvalid;
  std::uint32_t value = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return kInvalid;
    value = (value << 6) | (byte(i) & 0x3f);
  }
  const std::uint32_t smallest = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  if (value < smallest || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff)) return kInvalid;
  return {value, length};
}

CharClasses::CharClasses() : table_(0x10000, static_cast<std::uint8_t>(CharClass::kOther)) {
  const auto fill = [&](std::span<const CodePointRange> ranges, CharClass which) {
    for (const CodePointRange& range : ranges) {
      for (std::size_t c = range.first; c <= range.last && c < table_.size(); ++c) table_[c] = static_cast<std::uint8_t>(which);
    }
  };
  // Where several say something, the last one does, and it is the one that Classify asks first.
  fill(kNumbers, CharClass::kNumber);
  fill(kLetters, CharClass::kLetter);
  fill(kSpaces, CharClass::kSpace);
}

CharClass Classify(std::uint32_t c) {
  if (Contains(kSpaces, c)) return CharClass::kSpace;
  if (Contains(kLetters, c)) return CharClass::kLetter;
  if (Contains(kNumbers, c)) return CharClass::kNumber;
  return CharClass::kOther;
}

}  // namespace assay
