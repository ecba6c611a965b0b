// zlib streams (RFC 1950, RFC 1951) read without zlib, for builds that have none: those for other processors and for browsers. Accepts exactly what zlib accepts.
// The bytes may come from anyone: nothing beyond `size` is allocated. Pure; thread safe.
#pragma once

#include <cstddef>
#include <optional>

#include "assay/base/bytes.h"

namespace assay::rounding {

// What the stream holds, if it is one whole stream, with nothing after it, of exactly `size` bytes.
std::optional<Bytes> Inflated(ByteSpan stream, std::size_t size);

}  // namespace assay::rounding
