// CRC-32C (Castagnoli), as used by TFRecord files. For framing, never for security. Pure; thread safe.
#pragma once

#include <cstdint>

#include "assay/base/bytes.h"

namespace assay {

std::uint32_t Crc32c(ByteSpan bytes);

}  // namespace assay
