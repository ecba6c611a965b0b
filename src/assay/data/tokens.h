// Token streams: a list of u16 ids, from a .bin file or a tokenizer, cut into overlapping samples of tokens and next tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/allowance.h"
#include "assay/base/bytes.h"
#include "assay/base/file.h"
#include "assay/data/decoder.h"

namespace assay {

// Immutable; shared by the training and the validation part.
class TokenStream {
 public:
  static Result<std::shared_ptr<const TokenStream>> Open(const std::string& path, Allowance& allowance);
  // `bytes` (little-endian u16) must outlive the stream.
  static Result<std::shared_ptr<const TokenStream>> Parse(ByteSpan bytes, std::string_view what);
  static std::shared_ptr<const TokenStream> Own(std::vector<std::uint16_t> tokens);
  // Bytes of `owner`'s, of which is known that `largest` is.
  static std::shared_ptr<const TokenStream> Of(ByteSpan bytes, std::int32_t largest, std::shared_ptr<const void> owner);

  std::int64_t size() const { return static_cast<std::int64_t>(bytes_.size() / 2); }
  ByteSpan bytes() const { return bytes_; }
  std::int32_t largest() const { return largest_; }

 private:
  MappedFile file_;
  std::vector<std::uint16_t> owned_;
  std::shared_ptr<const void> owner_;
  ByteSpan bytes_;
  std::int32_t largest_ = 0;
};

// Tokens [begin, end) of the stream.
DataPart TokenPart(std::shared_ptr<const TokenStream> stream, std::int64_t begin, std::int64_t end);

// Sample i: tokens [i·stride, + sequence) and, as targets, the same one further on.
class TokenDecoder : public SampleDecoder {
 public:
  // Wants 1 <= sequence < descriptor.count and stride >= 1.
  TokenDecoder(const TokensDescriptor& descriptor, std::int64_t sequence, std::int64_t stride);
  std::int64_t samples() const override;
  SampleFields fields() const override;
  std::vector<SourceRange> Sources(std::int64_t index) const override;
  Status Decode(std::int64_t index, const DrawContext& context, std::span<const ByteSpan> sources, std::int64_t row,
                std::span<Tensor> batch) const override;

 private:
  std::int64_t count_, sequence_, stride_;
};

}  // namespace assay
