// Where sealed and plain bytes come from and go to, piece by piece, so that files of any size pass through constant memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay {

// Reads some bytes, at least one unless the source has ended, and says how many; 0 at the end, also when it is asked again. The
// span is not empty.
using ByteSource = std::function<Result<std::size_t>(std::span<std::uint8_t> out)>;
// Takes all bytes of the span.
using ByteSink = std::function<Status(ByteSpan bytes)>;

// The bytes of a span, which must outlive the source; `step` at a time at the most.
ByteSource SpanSource(ByteSpan bytes, std::size_t step = ~std::size_t{0});

namespace seal {

// Lines and blocks of a source. Not synchronised.
class BufferedSource {
 public:
  explicit BufferedSource(ByteSource source) : source_(std::move(source)) {}
  // The next byte, which stays; none at the end.
  Result<std::optional<std::uint8_t>> Peek();
  // Up to the next line feed, which is part of it, but `max` bytes at the most. Without a line feed the line was longer, or the
  // source has ended.
  Result<std::string> Line(std::size_t max);
  // How many bytes of `out` were filled: fewer than it holds only where the source has ended.
  Result<std::size_t> Fill(std::span<std::uint8_t> out);

 private:
  Status Refill();  // when the buffer is used up
  ByteSource source_;
  std::array<std::uint8_t, 4096> buffer_{};
  std::size_t begin_ = 0, end_ = 0;
};

}  // namespace seal
}  // namespace assay
