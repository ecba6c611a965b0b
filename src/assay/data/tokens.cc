#include "assay/data/tokens.h"

#include <algorithm>
#include <utility>

#include "assay/base/check.h"

namespace assay {
namespace {

constexpr std::size_t kLookedAtAtOnce = std::size_t{1} << 24;

std::int32_t TokenAt(ByteSpan bytes, std::size_t i) { return bytes[2 * i] | (bytes[2 * i + 1] << 8); }

std::int32_t Largest(ByteSpan bytes) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < bytes.size() / 2; ++i) largest = std::max(largest, TokenAt(bytes, i));
  return largest;
}

}  // namespace

Result<std::shared_ptr<const TokenStream>> TokenStream::Open(const std::string& path, Allowance& allowance) {
  ASSAY_ASSIGN(MappedFile file, MappedFile::Open(path));
  ASSAY_TRY(allowance.Take(file.bytes().size(), Allowance::Kind::kMapped));
  if (file.bytes().size() % 2 != 0) {
    return Err("{}: 2-byte token ids expected, file has {} bytes", path, file.bytes().size());
  }
  auto stream = std::make_shared<TokenStream>();
  stream->file_ = std::move(file);
  stream->bytes_ = stream->file_.bytes();
  for (ByteSpan rest = stream->bytes_; !rest.empty();) {
    ASSAY_TRY(allowance.Check());
    const ByteSpan piece = rest.first(std::min(rest.size(), kLookedAtAtOnce));
    stream->largest_ = std::max(stream->largest_, Largest(piece));
    rest = rest.subspan(piece.size());
  }
  return stream;
}

Result<std::shared_ptr<const TokenStream>> TokenStream::Parse(ByteSpan bytes, std::string_view what) {
  if (bytes.size() % 2 != 0) return Err("{}: 2-byte token ids expected, file has {} bytes", what, bytes.size());
  auto stream = std::make_shared<TokenStream>();
  stream->bytes_ = bytes;
  stream->largest_ = Largest(stream->bytes_);
  return stream;
}

std::shared_ptr<const TokenStream> TokenStream::Own(std::vector<std::uint16_t> tokens) {
  auto stream = std::make_shared<TokenStream>();
  stream->owned_ = std::move(tokens);
  stream->bytes_ = {reinterpret_cast<const std::uint8_t*>(stream->owned_.data()), stream->owned_.size() * 2};
  stream->largest_ = Largest(stream->bytes_);
  return stream;
}

std::shared_ptr<const TokenStream> TokenStream::Of(ByteSpan bytes, std::int32_t largest, std::shared_ptr<const void> owner) {
  auto stream = std::make_shared<TokenStream>();
  stream->owner_ = std::move(owner);
  stream->bytes_ = bytes;
  stream->largest_ = largest;
  return stream;
}

DataPart TokenPart(std::shared_ptr<const TokenStream> stream, std::int64_t begin, std::int64_t end) {
  ASSAY_CHECK(0 <= begin && begin <= end && end <= stream->size());
  const std::int64_t count = end - begin;
  const ByteSpan bytes = stream->bytes().subspan(static_cast<std::size_t>(begin) * 2, static_cast<std::size_t>(count) * 2);
  return {TokensDescriptor{count}, {DataArray({bytes})}, std::move(stream)};
}

TokenDecoder::TokenDecoder(const TokensDescriptor& descriptor, std::int64_t sequence, std::int64_t stride)
    : count_(descriptor.count), sequence_(sequence), stride_(stride) {
  ASSAY_CHECK(sequence >= 1 && sequence < count_ && stride >= 1);
}

std::int64_t TokenDecoder::samples() const { return (count_ - sequence_ - 1) / stride_ + 1; }

SampleFields TokenDecoder::fields() const {
  const TensorType type{DType::kI32, {sequence_}};
  return {{"tokens", type}, {"targets", type}};
}

std::vector<SourceRange> TokenDecoder::Sources(std::int64_t index) const {
  ASSAY_CHECK(index >= 0 && index < samples());
  const auto first = static_cast<std::uint64_t>(index * stride_), tokens = static_cast<std::uint64_t>(sequence_ + 1);
  return {{0, 2 * first, 2 * (first + tokens)}};
}

Status TokenDecoder::Decode(std::int64_t, const DrawContext&, std::span<const ByteSpan> sources, std::int64_t row,
                            std::span<Tensor> batch) const {
  const auto at = static_cast<std::size_t>(row * sequence_), length = static_cast<std::size_t>(sequence_);
  ASSAY_CHECK(sources.size() == 1 && sources[0].size() == 2 * (length + 1) && batch.size() == 2);
  const auto tokens = batch[0].Span<std::int32_t>().subspan(at, length);
  const auto targets = batch[1].Span<std::int32_t>().subspan(at, length);
  for (std::size_t t = 0; t < length; ++t) {
    tokens[t] = TokenAt(sources[0], t);
    targets[t] = TokenAt(sources[0], t + 1);
  }
  return {};
}

}  // namespace assay
