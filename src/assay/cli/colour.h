// Colours of verdicts and errors: on a terminal that has them, unless NO_COLOR is set and not empty (https://no-color.org). Elsewhere text
// stays as it is. Thread safe as long as nobody changes the environment.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace assay::cli {

enum class Tone { kPlain, kGood, kBad, kUnsure };  // no colour, green, red, yellow

// Whether what is written to `stream` is coloured.
bool HasColours(std::FILE* stream);

// `text`, in the tone's colour where the stream has colours.
std::string Painted(std::string_view text, Tone tone, std::FILE* stream);
// The same with spaces after it up to `width` columns, which the escapes of a colour do not count towards.
std::string PaintedWord(std::string_view word, std::size_t width, Tone tone, std::FILE* stream);

// Of an exit status (exit_status.h).
Tone ToneOf(int exit_status);

}  // namespace assay::cli
