#include "assay/data/tokens.h"

#include <algorithm>

#include "assay/base/check.h"

namespace assay {
namespace {

std::int32_t Largest(const TokenStream& stream) {
  std::int32_t largest = 0;
  for (std::int64_t i = 0; i < stream.size(); ++i) largest = std::max(largest, stream[i]);
  return largest;
}

}  // namespace

Result<std::shared_ptr<const TokenStream>> TokenStream::Open(const std::string& path) {
  ASSAY_ASSIGN(MappedFile file, MappedFile::Open(path));
  if (file.bytes().size() % 2 != 0) {
    return Err("{}: 2-byte token ids expected, file has {} bytes", path, file.bytes().size());
  }
  auto stream = std::make_shared<TokenStream>();
  stream->file_ = std::move(file);
  stream->bytes_ = stream->file_.bytes();
  stream->largest_ = Largest(*stream);
  return stream;
}

Result<std::shared_ptr<const TokenStream>> TokenStream::Parse(ByteSpan bytes, std::string_view what) {
  if (bytes.size() % 2 != 0) return Err("{}: 2-byte token ids expected, file has {} bytes", what, bytes.size());
  auto stream = std::make_shared<TokenStream>();
  stream->bytes_ = bytes;
  stream->largest_ = Largest(*stream);
  return stream;
}

std::shared_ptr<const TokenStream> TokenStream::Own(std::vector<std::uint16_t> tokens) {
  auto stream = std::make_shared<TokenStream>();
  stream->owned_ = std::move(tokens);
  stream->bytes_ = {reinterpret_cast<const std::uint8_t*>(stream->owned_.data()), stream->owned_.size() * 2};
  stream->largest_ = Largest(*stream);
  return stream;
}

Digest TokenStream::Content(std::int64_t begin, std::int64_t end) const {
  ASSAY_CHECK(0 <= begin && begin <= end && end <= size());
  ByteWriter head;
  head.String("assay.data.tokens.1");
  head.I64(end - begin);
  Sha256 hash;
  hash.Update(head.bytes());
  hash.Update(bytes_.subspan(static_cast<std::size_t>(begin) * 2, static_cast<std::size_t>(end - begin) * 2));
  return hash.Finish();
}

TokenDataset::TokenDataset(std::shared_ptr<const TokenStream> stream, std::int64_t begin, std::int64_t end,
                           std::int64_t sequence, std::int64_t stride, std::string description)
    : stream_(std::move(stream)),
      begin_(begin),
      end_(end),
      sequence_(sequence),
      stride_(stride),
      description_(std::move(description)) {
  ASSAY_CHECK(0 <= begin && end <= stream_->size() && end - begin > sequence && sequence >= 1 && stride >= 1);
}

std::int64_t TokenDataset::samples() const { return (end_ - begin_ - sequence_ - 1) / stride_ + 1; }

std::vector<std::pair<std::string, TensorType>> TokenDataset::fields() const {
  const TensorType type{DType::kI32, {sequence_}};
  return {{"tokens", type}, {"targets", type}};
}

void TokenDataset::Load(std::int64_t index, const DrawContext&, std::int64_t row, std::span<Tensor> batch) const {
  ASSAY_CHECK(index >= 0 && index < samples() && batch.size() == 2);
  const std::int64_t first = begin_ + index * stride_;
  const auto at = static_cast<std::size_t>(row * sequence_), length = static_cast<std::size_t>(sequence_);
  const auto tokens = batch[0].Span<std::int32_t>().subspan(at, length);
  const auto targets = batch[1].Span<std::int32_t>().subspan(at, length);
  for (std::int64_t t = 0; t < sequence_; ++t) {
    tokens[static_cast<std::size_t>(t)] = (*stream_)[first + t];
    targets[static_cast<std::size_t>(t)] = (*stream_)[first + t + 1];
  }
}

}  // namespace assay
