#include "assay/data/word_cuts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "assay/data/unicode.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, 7> kEndings = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

std::size_t Contraction(std::string_view text) {
  for (std::string_view ending : kEndings) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

// In either case; the long s is an s, too.
std::size_t ContractionOfAnyCase(std::string_view text) {
  constexpr std::string_view kLongS = "'\xc5\xbf";
  if (text.starts_with(kLongS)) return kLongS.size();
  const auto same = [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b - 'A' + 'a') : b); };
  for (std::string_view ending : kEndings) {
    if (text.size() >= ending.size() && std::equal(ending.begin(), ending.end(), text.begin(), same)) return ending.size();
  }
  return 0;
}

CharClass ClassOf(std::string_view text) { return Classify(DecodeUtf8(text).value); }

struct Run {
  std::size_t length = 0;  // bytes
  std::size_t last = 0;    // bytes of its last code point
  std::size_t characters = 0;
};

Run RunOf(std::string_view text, CharClass wanted, std::size_t most = SIZE_MAX) {
  Run run;
  while (run.length < text.size() && run.characters < most) {
    const CodePoint c = DecodeUtf8(text.substr(run.length));
    if (Classify(c.value) != wanted) break;
    run.length += c.length;
    run.last = c.length;
    ++run.characters;
  }
  return run;
}

// Of a run of white space at the beginning, all of which belongs together if nothing follows; otherwise its last character is left to what does.
std::size_t Space(std::string_view text, const Run& run) {
  return run.length == text.size() || run.characters == 1 ? run.length : run.length - run.last;
}

std::size_t Gpt2Word(std::string_view text) {
  if (const std::size_t length = Contraction(text)) return length;
  const std::size_t space = text.front() == ' ' ? 1 : 0;
  if (text.size() > space) {
    const CharClass next = ClassOf(text.substr(space));
    if (next != CharClass::kSpace) return space + RunOf(text.substr(space), next).length;
  }
  return Space(text, RunOf(text, CharClass::kSpace));
}

bool IsLineBreak(char c) { return c == '\r' || c == '\n'; }

std::size_t Llama3Word(std::string_view text, std::size_t digits) {
  if (const std::size_t length = ContractionOfAnyCase(text)) return length;
  const CodePoint first = DecodeUtf8(text);
  const CharClass kind = Classify(first.value);
  if (kind == CharClass::kLetter) return RunOf(text, CharClass::kLetter).length;
  if (kind == CharClass::kNumber) return RunOf(text, CharClass::kNumber, digits).length;
  const std::string_view after = text.substr(first.length);
  if (!IsLineBreak(text.front()) && !after.empty() && ClassOf(after) == CharClass::kLetter) {
    return first.length + RunOf(after, CharClass::kLetter).length;
  }
  const std::size_t space = text.front() == ' ' ? 1 : 0;
  if (const Run others = RunOf(text.substr(space), CharClass::kOther); others.length > 0) {
    std::size_t length = space + others.length;
    while (length < text.size() && IsLineBreak(text[length])) ++length;
    return length;
  }
  const Run run = RunOf(text, CharClass::kSpace);
  const std::size_t line_break = text.substr(0, run.length).find_last_of("\r\n");
  return line_break != std::string_view::npos ? line_break + 1 : Space(text, run);
}

std::size_t Digits(std::string_view text, std::size_t most) {
  if (const Run run = RunOf(text, CharClass::kNumber, most); run.length > 0) return run.length;
  std::size_t length = 0;
  while (length < text.size()) {
    const CodePoint c = DecodeUtf8(text.substr(length));
    if (Classify(c.value) == CharClass::kNumber) break;
    length += c.length;
  }
  return length;
}

}  // namespace

std::size_t FirstPiece(Cut cut, std::string_view text) {
  switch (cut) {
    case Cut::kGpt2: return Gpt2Word(text);
    case Cut::kLlama3: return Llama3Word(text, 3);
    case Cut::kQwen2: return Llama3Word(text, 1);
    case Cut::kDigits: return Digits(text, 1);
    case Cut::kDigitRuns: return Digits(text, SIZE_MAX);
  }
  return text.size();
}

std::string_view Words::Next() {
  std::size_t level = cuts_.size();
  while (rest_[level].empty()) {
    if (level == 0) return {};
    --level;
  }
  for (; level < cuts_.size(); ++level) {
    rest_[level + 1] = rest_[level].substr(0, FirstPiece(cuts_[level], rest_[level]));
    rest_[level].remove_prefix(rest_[level + 1].size());
  }
  return std::exchange(rest_.back(), {});
}

}  // namespace assay
