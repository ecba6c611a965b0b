// Byte-level byte pair encoding of any published vocabulary, made from a tokenizer.json (tokenizer_json.h). GPT-2's two files have a quicker one (bpe.h), which
// takes words cut in GPT-2's way and merges that were trained.
//
// The merges may be any. Encoding takes O(n log n) for any text. Bytes that are not valid UTF-8 are encoded one by one as characters of no class. Immutable;
// thread safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "assay/data/added_tokens.h"
#include "assay/data/merge_table.h"
#include "assay/data/tokenizer.h"
#include "assay/data/word_cuts.h"

namespace assay {

class ByteLevelBpe : public Tokenizer {
 public:
  static constexpr std::size_t kMaxVocabulary = 65536;
  static constexpr std::size_t kMaxTokenBytes = 4096;
  static constexpr std::uint64_t kTokenBytes = 256;  // of what is kept of a token beside its spelling

  struct Parts {
    std::vector<std::string> tokens;                     // what each id stands for; empty: nothing
    std::unordered_map<std::string, std::uint16_t> ids;  // of the tokens that words are made of
    std::vector<Merge> merges;                           // of different pairs, by rank
    std::vector<Cut> cuts = {Cut::kGpt2};                // into words, one after the other
    bool prefix_space = false;                           // a text that begins with something else gets a space in front
    bool whole_words = false;                            // a word that is a token is that token, whatever the merges
    AddedTokens added;                                   // what the text is searched for first
  };

  // Every byte must have a token; `name` is for the error. The merges may be any: the lowest rank comes first, of equal ranks the leftmost.
  static Result<std::shared_ptr<const ByteLevelBpe>> Make(Parts parts, std::string_view name);

  std::int64_t vocabulary() const override { return static_cast<std::int64_t>(parts_.tokens.size()); }
  using Tokenizer::Encode;
  Result<std::vector<std::uint16_t>> Encode(std::string_view text, Allowance& allowance) const override;
  std::string Decode(std::span<const std::uint16_t> ids) const override;

 private:
  struct Ranked {
    std::uint32_t rank = 0;
    std::uint16_t result = 0;
  };
  struct Encoding;
  const Ranked* Find(std::uint16_t left, std::uint16_t right) const;
  void EncodeWord(std::string_view word, std::vector<std::uint16_t>& out) const;
  Status EncodePiece(std::string_view text, Encoding& encoding, Allowance& allowance) const;

  Parts parts_;
  std::array<std::uint16_t, 256> byte_ids_{};
  std::unordered_map<std::uint32_t, Ranked> merges_;  // left id in the high half
};

}  // namespace assay
