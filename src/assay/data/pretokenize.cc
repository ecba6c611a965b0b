#include "assay/data/pretokenize.h"

#include "assay/base/check.h"

namespace assay {
namespace {

constexpr std::uint8_t kWide = 0xff;

std::size_t Contraction(std::string_view text) {
  constexpr std::array<std::string_view, 7> kEndings = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (std::string_view ending : kEndings) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

std::uint8_t ByteAt(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

}  // namespace

Pretokenizer::Pretokenizer() {
  ascii_.fill(kWide);
  for (std::uint32_t c = 0; c < 0x80; ++c) ascii_[c] = static_cast<std::uint8_t>(classes_.Of(c));
}

CharClass Pretokenizer::ClassAt(std::string_view text, std::size_t at, std::size_t& length) const {
  const std::uint8_t known = ascii_[ByteAt(text, at)];
  length = 1;
  if (known != kWide) return static_cast<CharClass>(known);
  const CodePoint c = DecodeUtf8(text.substr(at));
  length = c.length;
  return classes_.Of(c.value);
}

// Where characters of the class `wanted` end that begin at `at`.
std::size_t Pretokenizer::EndOfRun(std::string_view text, std::size_t at, CharClass wanted) const {
  const auto same = static_cast<std::uint8_t>(wanted);
  while (true) {
    while (at < text.size() && ascii_[ByteAt(text, at)] == same) ++at;
    if (at == text.size() || ascii_[ByteAt(text, at)] != kWide) return at;
    std::size_t length = 0;
    if (ClassAt(text, at, length) != wanted) return at;
    at += length;
  }
}

std::size_t Pretokenizer::FirstWord(std::string_view text) const {
  if (text.front() == '\'') {
    if (const std::size_t length = Contraction(text)) return length;
  }
  const std::size_t space = text.front() == ' ' ? 1 : 0;
  if (text.size() > space) {
    std::size_t length = 0;
    const CharClass next = ClassAt(text, space, length);
    if (next != CharClass::kSpace) return EndOfRun(text, space + length, next);
  }
  const std::size_t end = EndOfRun(text, 0, CharClass::kSpace);
  if (end == text.size()) return end;
  // The last character of the white space belongs to what follows, unless it is the only one. Only ASCII has bytes below 0x80.
  std::size_t last = end - 1;
  while (last > 0 && (ByteAt(text, last) & 0xc0) == 0x80) --last;
  return last == 0 ? end : last;
}

bool Pretokenizer::CutsBefore(std::string_view text, std::size_t at) const {
  ASSAY_CHECK(at > 0 && at < text.size());
  if (ascii_[ByteAt(text, at)] != static_cast<std::uint8_t>(CharClass::kSpace)) return false;
  // The character before `at` is the one of 1 to 4 bytes that ends there; where none does, that byte stands for itself.
  for (std::size_t length = 1; length <= 4 && length <= at; ++length) {
    const CodePoint c = DecodeUtf8(text.substr(at - length));
    if (c.length == length && c.value != 0xfffd) return classes_.Of(c.value) != CharClass::kSpace;
  }
  return true;
}

}  // namespace assay
