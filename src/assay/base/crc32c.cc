#include "assay/base/crc32c.h"

#include "assay/base/crc_table.h"

namespace assay {
namespace {

constexpr CrcTable kTable = MakeCrcTable(0x82f63b78u);

}  // namespace

std::uint32_t Crc32c(ByteSpan bytes) { return CrcOf(kTable, bytes); }

}  // namespace assay
