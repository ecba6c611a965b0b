// The little of Unicode that GPT-2's pre-tokenizer needs: decoding UTF-8 and three classes of code points. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace assay {

enum class CharClass : std::uint8_t { kSpace, kLetter, kNumber, kOther };

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 1;  // in bytes
};

// The code point at the start of `text`, which is not empty. A byte that begins no valid sequence stands for itself, with the value
// U+FFFD and length 1.
CodePoint DecodeUtf8(std::string_view text);

// General categories L* and N* and the property White_Space.
CharClass Classify(std::uint32_t code_point);

}  // namespace assay
