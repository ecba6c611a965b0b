// Raw deflate streams (RFC 1951), by zlib where the build has it. The bytes may come from anyone: what is allocated is what the caller
// allows, whatever the stream would grow to. Pure; thread safe.
#pragma once

#include <cstddef>
#include <string_view>

#include "assay/base/allowance.h"
#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay {

// Whether this build has zlib; without it every stream is an error that says so.
bool CanInflate();
// The first `size` bytes of the stream, or all of them where it is shorter. `what` names the source in errors.
Result<Bytes> InflateStart(ByteSpan stream, std::size_t size, std::string_view what);
// The whole stream; an error unless it has exactly `size` bytes and ends where `stream` does. `allowance`, from which the caller has taken the size, says whether to
// stop.
Result<Bytes> Inflate(ByteSpan stream, std::size_t size, std::string_view what, const Allowance& allowance = {});

}  // namespace assay
