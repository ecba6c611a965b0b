// GPT-2's byte-level byte pair encoding, from its two vocabulary files.
//
// encoder.json maps each token, written in GPT-2's printable stand-ins for bytes, to its id; vocab.bpe lists the merges by rank. Both come
// from outside: sizes are bounded, every token and merge is checked, and encoding takes O(n log n) for any text. Bytes that are not valid
// UTF-8 are encoded one by one as characters of no class. Immutable; thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "assay/data/tokenizer.h"

namespace assay {

class BpeTokenizer : public Tokenizer {
 public:
  // A folder with encoder.json and vocab.bpe.
  static Result<std::shared_ptr<const BpeTokenizer>> Open(const std::string& folder, Allowance& allowance);
  // The files' contents; the names are for errors.
  static Result<std::shared_ptr<const BpeTokenizer>> Parse(std::string_view encoder, std::string_view encoder_name,
                                                           std::string_view merges, std::string_view merges_name);

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(tokens_.size()); }
  using Tokenizer::Encode;
  Result<std::vector<std::uint16_t>> Encode(std::string_view text, Allowance& allowance) const override;
  std::string Decode(std::span<const std::uint16_t> ids) const override;

 private:
  struct Merge {
    std::uint32_t rank = 0;
    std::uint16_t result = 0;
  };
  Status ReadEncoder(std::string_view json, std::string_view name);
  Status ReadMerges(std::string_view text, std::string_view name);
  const Merge* Find(std::uint16_t left, std::uint16_t right) const;
  void EncodeWord(std::string_view word, std::vector<std::uint16_t>& out) const;

  std::vector<std::string> tokens_;  // bytes of each token, by id
  std::unordered_map<std::string, std::uint16_t> ids_;
  std::array<std::uint16_t, 256> byte_ids_{};
  std::unordered_map<std::uint32_t, Merge> merges_;  // left id in the high half
};

// The length in bytes of the first word that GPT-2's pre-tokenizer cuts off `text`, which is not empty.
std::size_t FirstWord(std::string_view text);

}  // namespace assay
