// GPT-2's byte-level byte pair encoding, from its two vocabulary files.
//
// encoder.json maps each token, written in GPT-2's printable stand-ins for bytes, to its id; vocab.bpe lists the merges by rank. Both come
// from outside: sizes are bounded, every token and merge is checked, and encoding takes O(n log n) for any text. Bytes that are not valid
// UTF-8 are encoded one by one as characters of no class. Immutable; thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "assay/data/bpe_encoder.h"
#include "assay/data/tokenizer.h"

namespace assay {

inline constexpr std::uint64_t kMaxVocabularyFile = 64u << 20;  // bytes of either file

class BpeTokenizer : public Tokenizer {
 public:
  // A folder with encoder.json and vocab.bpe.
  static Result<std::shared_ptr<const BpeTokenizer>> Open(const std::string& folder, Allowance& allowance);
  // The files' contents; the names are for errors.
  static Result<std::shared_ptr<const BpeTokenizer>> Parse(std::string_view encoder, std::string_view encoder_name,
                                                           std::string_view merges, std::string_view merges_name,
                                                           Allowance& allowance);
  static Result<std::shared_ptr<const BpeTokenizer>> Parse(std::string_view encoder, std::string_view encoder_name,
                                                           std::string_view merges, std::string_view merges_name);

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(tokens_.size()); }
  using Tokenizer::Encode;
  Result<std::vector<std::uint16_t>> Encode(std::string_view text, Allowance& allowance) const override;
  std::string Decode(std::span<const std::uint16_t> ids) const override;
  // The id of the token with these bytes; none: there is no such token.
  std::optional<std::uint16_t> Find(std::string_view bytes) const;
  const BpeTables& tables() const { return tables_; }  // for encoders, which this must outlive

 private:
  Status ReadEncoder(std::string_view json, std::string_view name);
  Status ReadMerges(std::string_view text, std::string_view name);

  std::vector<std::string> tokens_;  // bytes of each token, by id
  std::unordered_map<std::string, std::uint16_t> ids_;
  BpeTables tables_;
};

}  // namespace assay
