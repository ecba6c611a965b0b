// GPT-2's pre-tokenizer, by hand: contractions; words, numbers and other runs, each with at most one space before it; white space, whose
// last character is left to the word that follows.
#include <array>

#include "assay/data/bpe.h"
#include "assay/data/unicode.h"

namespace assay {
namespace {

std::size_t Contraction(std::string_view text) {
  constexpr std::array<std::string_view, 7> kEndings = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
  for (std::string_view ending : kEndings) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

struct Run {
  std::size_t length = 0;  // bytes
  std::size_t last = 0;    // bytes of its last code point
  std::size_t characters = 0;
};

Run RunOf(std::string_view text, CharClass wanted) {
  Run run;
  while (run.length < text.size()) {
    const CodePoint c = DecodeUtf8(text.substr(run.length));
    if (Classify(c.value) != wanted) break;
    run.length += c.length;
    run.last = c.length;
    ++run.characters;
  }
  return run;
}

}  // namespace

std::size_t FirstWord(std::string_view text) {
  if (const std::size_t length = Contraction(text)) return length;
  const std::size_t space = text.front() == ' ' ? 1 : 0;
  if (text.size() > space) {
    const CharClass next = Classify(DecodeUtf8(text.substr(space)).value);
    if (next != CharClass::kSpace) return space + RunOf(text.substr(space), next).length;
  }
  const Run run = RunOf(text, CharClass::kSpace);
  if (run.length == text.size() || run.characters == 1) return run.length;
  return run.length - run.last;
}

}  // namespace assay
