// Base64 (RFC 4648, section 4) with padding. Decoding accepts only what encoding produces. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay {

std::string Base64(ByteSpan bytes);
Result<Bytes> FromBase64(std::string_view text);  // errors do not repeat the text, which may be secret

}  // namespace assay
