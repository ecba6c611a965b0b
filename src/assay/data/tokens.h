// Token streams: a list of u16 ids, from a .bin file or a tokenizer, cut into overlapping samples of tokens and next tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/file.h"
#include "assay/data/dataset.h"
#include "assay/merkle/sha256.h"

namespace assay {

// Immutable; shared by the training and the validation part.
class TokenStream {
 public:
  static Result<std::shared_ptr<const TokenStream>> Open(const std::string& path);
  // `bytes` (little-endian u16) must outlive the stream.
  static Result<std::shared_ptr<const TokenStream>> Parse(ByteSpan bytes, std::string_view what);
  static std::shared_ptr<const TokenStream> Own(std::vector<std::uint16_t> tokens);

  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size() / 2); }
  std::int32_t operator[](std::int64_t i) const {
    const auto at = static_cast<std::size_t>(i) * 2;
    return bytes_[at] | (bytes_[at + 1] << 8);
  }
  std::int32_t largest() const { return largest_; }
  Digest Content(std::int64_t begin, std::int64_t end) const;  // the identity of a part

 private:
  MappedFile file_;
  std::vector<std::uint16_t> owned_;
  ByteSpan bytes_;
  std::int32_t largest_ = 0;
};

// Sample i: tokens [begin + i·stride, + sequence) and, as targets, the same one further on.
class TokenDataset : public Dataset {
 public:
  // Wants end - begin > sequence.
  TokenDataset(std::shared_ptr<const TokenStream> stream, std::int64_t begin, std::int64_t end, std::int64_t sequence,
               std::int64_t stride, std::string description);
  std::int64_t samples() const override;
  std::vector<std::pair<std::string, TensorType>> fields() const override;
  void Load(std::int64_t index, const DrawContext& context, std::int64_t row, std::span<Tensor> batch) const override;
  std::string description() const override { return description_; }

 private:
  std::shared_ptr<const TokenStream> stream_;
  std::int64_t begin_, end_, sequence_, stride_;
  std::string description_;
};

}  // namespace assay
