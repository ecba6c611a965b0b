// CRC-32 (IEEE 802.3), as zip files have it. For damage, never for security. Pure; thread safe.
#pragma once

#include <cstdint>

#include "assay/base/bytes.h"

namespace assay {

std::uint32_t Crc32(ByteSpan bytes);

}  // namespace assay
