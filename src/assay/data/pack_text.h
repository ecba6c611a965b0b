// From pieces of text, JSON lines or tokens to tokens. Internal to packing. A worker is not synchronised: each thread has its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/result.h"
#include "assay/data/bpe.h"
#include "assay/data/pack_inputs.h"

namespace assay {

// How documents become tokens. The vocabulary must outlive the workers; null: each byte is its own token.
struct PackRule {
  const BpeTokenizer* vocabulary = nullptr;
  std::optional<std::uint16_t> end_of_text{};
  std::string field{};
};

// What pieces became.
struct PackedPieces {
  std::vector<std::uint16_t> tokens;
  std::vector<std::uint64_t> ends;  // of documents, in tokens
  std::int64_t empty = 0;           // documents without a token, which are left out
  std::int32_t largest = -1;
};

class PackWorker {
 public:
  PackWorker(const PackInputs& inputs, const PackRule& rule);

  // Pieces that follow each other. A document ends where its file or its line does. An error names the file.
  Result<PackedPieces> Run(std::span<const PackPiece> pieces);

 private:
  Status AddPiece(const PackPiece& piece, PackedPieces& out);
  Status AddLines(const PackInput& input, const PackPiece& piece, std::string_view lines, PackedPieces& out);
  void AddText(std::string_view text, PackedPieces& out);
  void EndDocument(bool is_empty, PackedPieces& out) const;

  const PackInputs& inputs_;
  const PackRule& rule_;
  std::optional<BpeEncoder> encoder_;
  std::string document_;  // of a line
};

}  // namespace assay
