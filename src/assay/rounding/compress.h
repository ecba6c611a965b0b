// Compression by zlib, which builds for other processors do without: what they cannot decompress they know nothing about. Pure functions.
#pragma once

#include <cstddef>
#include <optional>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay::rounding {

// One zlib stream; none where this build has no zlib.
std::optional<Bytes> Compressed(ByteSpan bytes);

// What exactly one zlib stream holds, if that is `size` bytes. An error of the system: this build has no zlib, and nothing is said about the stream.
Result<Bytes> Decompressed(ByteSpan stream, std::size_t size);

}  // namespace assay::rounding
