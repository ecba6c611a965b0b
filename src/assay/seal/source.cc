#include "assay/seal/source.h"

#include <algorithm>

#include "assay/base/check.h"

namespace assay {

ByteSource SpanSource(ByteSpan bytes, std::size_t step) {
  ASSAY_CHECK(step > 0);
  return [bytes, step](std::span<std::uint8_t> out) mutable -> Result<std::size_t> {
    const std::size_t size = std::min({bytes.size(), out.size(), step});
    std::copy_n(bytes.begin(), size, out.begin());
    bytes = bytes.subspan(size);
    return size;
  };
}

namespace seal {

Status BufferedSource::Refill() {
  if (begin_ < end_) return {};
  ASSAY_ASSIGN(end_, source_(buffer_));
  ASSAY_CHECK(end_ <= buffer_.size());
  begin_ = 0;
  return {};
}

Result<std::optional<std::uint8_t>> BufferedSource::Peek() {
  ASSAY_TRY(Refill());
  if (begin_ == end_) return std::nullopt;
  return buffer_[begin_];
}

Result<std::string> BufferedSource::Line(std::size_t max) {
  std::string line;
  while (line.size() < max && !line.ends_with('\n')) {
    ASSAY_TRY(Refill());
    if (begin_ == end_) break;
    const std::size_t size = std::min(end_ - begin_, max - line.size());
    const ByteSpan piece(buffer_.data() + begin_, size);
    const auto feed = std::find(piece.begin(), piece.end(), '\n');
    const auto stop = feed == piece.end() ? feed : feed + 1;
    line.append(piece.begin(), stop);
    begin_ += static_cast<std::size_t>(stop - piece.begin());
  }
  return line;
}

Result<std::size_t> BufferedSource::Fill(std::span<std::uint8_t> out) {
  std::size_t filled = std::min(out.size(), end_ - begin_);
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), filled, out.begin());
  begin_ += filled;
  while (filled < out.size()) {
    ASSAY_ASSIGN(const std::size_t got, source_(out.subspan(filled)));
    ASSAY_CHECK(got <= out.size() - filled);
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

}  // namespace seal
}  // namespace assay
