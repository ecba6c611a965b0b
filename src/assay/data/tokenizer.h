// Tokenizer: text to token ids and back. Ids are below 65536, so that every token stream is a list of u16. Immutable; thread safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/allowance.h"
#include "assay/base/result.h"

namespace assay {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual std::int64_t vocabulary() const = 0;
  // An error names the first character that the vocabulary lacks. What the tokens take is taken from the allowance.
  virtual Result<std::vector<std::uint16_t>> Encode(std::string_view text, Allowance& allowance) const = 0;
  Result<std::vector<std::uint16_t>> Encode(std::string_view text) const {
    Allowance everything;
    return Encode(text, everything);
  }
  // Ids outside the vocabulary decode to nothing.
  virtual std::string Decode(std::span<const std::uint16_t> ids) const = 0;
};

}  // namespace assay
