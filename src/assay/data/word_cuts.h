// How text is cut into words before byte pairs are merged: the patterns of published byte-level tokenizers, by hand. GPT-2's alone has a
// quicker implementation (pretokenize.h). No merge crosses the end of a word.
//
// Every byte of a text is in exactly one word. Bytes that are not valid UTF-8 are characters of no class. Time is linear in the text. Pure
// functions; a Words is used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

enum class Cut : std::uint8_t {
  kGpt2,  // contractions; letters, numbers and others, each with at most one space before it; white space less what the next word takes
  kLlama3,    // any one character before letters; numbers of up to three digits; line breaks with what precedes them
  kQwen2,     // the same with single digits
  kDigits,    // single digits, and what is between them
  kDigitRuns  // numbers, and what is between them
};

// The length in bytes of the first piece that the pattern cuts off `text`, which is not empty.
std::size_t FirstPiece(Cut cut, std::string_view text);

// The words of a text, by cuts of which each divides the pieces of the one before it.
class Words {
 public:
  Words(std::span<const Cut> cuts, std::string_view text) : cuts_(cuts), rest_(cuts.size() + 1) { rest_.front() = text; }
  // Empty at the end of the text.
  std::string_view Next();

 private:
  std::span<const Cut> cuts_;
  std::vector<std::string_view> rest_;  // what is left of the piece that the cut before it made
};

}  // namespace assay
