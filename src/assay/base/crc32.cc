#include "assay/base/crc32.h"

#include "assay/base/crc_table.h"

namespace assay {
namespace {

constexpr CrcTable kTable = MakeCrcTable(0xedb88320u);

}  // namespace

std::uint32_t Crc32(ByteSpan bytes) { return CrcOf(kTable, bytes); }

}  // namespace assay
