// The little of Unicode that GPT-2's pre-tokenizer needs: decoding UTF-8 and three classes of code points. The functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

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

// Classify by look-up, for whoever asks often. Immutable; thread safe.
class CharClasses {
 public:
  CharClasses();
  CharClass Of(std::uint32_t code_point) const {
    return code_point < table_.size() ? static_cast<CharClass>(table_[code_point]) : Classify(code_point);
  }

 private:
  std::vector<std::uint8_t> table_;  // of the first 65536 code points
};

}  // namespace assay
