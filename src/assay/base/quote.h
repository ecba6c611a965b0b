// Outside text inside a one-line message. Pure.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// The text with everything but visible ASCII and spaces written as \xNN.
std::string OneLine(std::string_view text);
// The same between quotation marks, cut after 80 characters.
std::string Quote(std::string_view text);
// A word as a shell takes it: as it is where nothing in it means anything to a shell, otherwise between single quotation marks.
std::string ShellQuoted(std::string_view text);

}  // namespace assay
