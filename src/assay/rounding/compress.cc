#include "assay/rounding/compress.h"

#ifdef ASSAY_HAVE_ZLIB
#include <zlib.h>
#endif

#include "assay/base/check.h"
#include "assay/rounding/inflate.h"

namespace assay::rounding {

#ifdef ASSAY_HAVE_ZLIB

std::optional<Bytes> Compressed(ByteSpan bytes) {
  uLongf size = compressBound(bytes.size());
  Bytes deflated(size);
  ASSAY_CHECK(compress(deflated.data(), &size, bytes.data(), bytes.size()) == Z_OK);
  deflated.resize(size);
  return deflated;
}

static std::optional<Bytes> Uncompressed(ByteSpan stream, std::size_t size) {
  Bytes out(size + 1);
  uLongf got = size + 1;
  uLong used = stream.size();
  if (uncompress2(out.data(), &got, stream.data(), &used) != Z_OK || got != size || used != stream.size()) return std::nullopt;
  out.resize(size);
  return out;
}

#else

std::optional<Bytes> Compressed(ByteSpan) { return std::nullopt; }

static std::optional<Bytes> Uncompressed(ByteSpan stream, std::size_t size) { return Inflated(stream, size); }

#endif

Result<Bytes> Decompressed(ByteSpan stream, std::size_t size) {
  // Deflate makes at most 1032 bytes of one.
  if (size <= 1032 * stream.size()) {
    if (std::optional<Bytes> out = Uncompressed(stream, size)) return *std::move(out);
  }
  return Err("{} bytes are not a stream of {}", stream.size(), size);
}

}  // namespace assay::rounding
