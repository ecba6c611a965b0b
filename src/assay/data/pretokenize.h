// Pretokenizer: GPT-2's cutting of a text into words, within which byte pairs are merged.
//
// Words are contractions ('s 't 're 've 'm 'll 'd); runs of letters, of numbers and of other characters, each with at most one space before
// it; and runs of white space, whose last character is left to the word that follows. Bytes that are not valid UTF-8 are characters of no
// class. Runs of ASCII cost one look-up a byte. Immutable; thread safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "assay/data/unicode.h"

namespace assay {

class Pretokenizer {
 public:
  Pretokenizer();

  // The length in bytes of the first word of `text`, which is not empty.
  std::size_t FirstWord(std::string_view text) const;

  // Whether the words of `text` are those of its first `at` bytes followed by those of the rest, whatever comes before and after it:
  // before `at` is no white space, and behind it a character of ASCII that is. 0 < at < text.size(); `text` goes back at least to the
  // beginning of the character before `at`.
  bool CutsBefore(std::string_view text, std::size_t at) const;

 private:
  CharClass ClassAt(std::string_view text, std::size_t at, std::size_t& length) const;
  std::size_t EndOfRun(std::string_view text, std::size_t at, CharClass wanted) const;

  CharClasses classes_;
  std::array<std::uint8_t, 256> ascii_{};  // a CharClass, or kWide for bytes of longer characters
};

}  // namespace assay
