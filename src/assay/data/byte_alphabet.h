// GPT-2's printable stand-ins for bytes, in which byte-level vocabularies are written. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay {

// The bytes that `written` stands for; none where it has a character that stands for no byte.
std::optional<std::string> BytesOfAlphabet(std::string_view written);

}  // namespace assay
