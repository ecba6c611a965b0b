// Text by characters: one token per byte, numbered by the ascending order of the distinct bytes of a text.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "assay/data/tokenizer.h"

namespace assay {

class CharTokenizer : public Tokenizer {
 public:
  // The vocabulary of `text`, and the one in which every byte is its own id.
  static std::shared_ptr<const CharTokenizer> FromText(std::string_view text);
  static std::shared_ptr<const CharTokenizer> AllBytes();

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(bytes_.size()); }
  using Tokenizer::Encode;
  Result<std::vector<std::uint16_t>> Encode(std::string_view text, Allowance& allowance) const override;
  std::string Decode(std::span<const std::uint16_t> ids) const override;

 private:
  std::array<std::int16_t, 256> ids_{};  // -1: not in the vocabulary
  std::string bytes_;                    // by id
};

}  // namespace assay
