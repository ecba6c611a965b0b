// zlib streams. Builds for other processors and for browsers do without zlib: they read such streams (inflate.h) and write none. Pure functions.
#pragma once

#include <cstddef>
#include <optional>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay::rounding {

// One zlib stream; none where this build has no zlib.
std::optional<Bytes> Compressed(ByteSpan bytes);

// What exactly one zlib stream holds, if that is `size` bytes.
Result<Bytes> Decompressed(ByteSpan stream, std::size_t size);

}  // namespace assay::rounding
