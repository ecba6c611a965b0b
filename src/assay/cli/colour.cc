#include "assay/cli/colour.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "assay/cli/exit_status.h"

namespace assay::cli {
namespace {

std::string_view Code(Tone tone) {
  switch (tone) {
    case Tone::kPlain: return "0";
    case Tone::kGood: return "1;32";
    case Tone::kBad: return "1;31";
    case Tone::kUnsure: return "1;33";
  }
  return "0";
}

}  // namespace

bool HasColours(std::FILE* stream) {
  const char* none = std::getenv("NO_COLOR");
  if (none != nullptr && *none != '\0') return false;
  const char* terminal = std::getenv("TERM");
  return ::isatty(::fileno(stream)) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string Painted(std::string_view text, Tone tone, std::FILE* stream) {
  if (tone == Tone::kPlain || !HasColours(stream)) return std::string(text);
  return fmt::format("\x1b[{}m{}\x1b[0m", Code(tone), text);
}

std::string PaintedWord(std::string_view word, std::size_t width, Tone tone, std::FILE* stream) {
  return Painted(word, tone, stream) + std::string(width - std::min(width, word.size()), ' ');
}

Tone ToneOf(int exit_status) {
  switch (exit_status) {
    case kExitOk: return Tone::kGood;
    case kExitUndecided: return Tone::kUnsure;
    default: return Tone::kBad;
  }
}

}  // namespace assay::cli
