#include "assay/base/crc32.h"

#include <array>

namespace assay {
namespace {

constexpr std::array<std::uint32_t, 256> MakeTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t remainder = i;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0xedb88320u : 0u);
    table[i] = remainder;
  }
  return table;
}

constexpr auto kTable = MakeTable();

}  // namespace

std::uint32_t Crc32(ByteSpan bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (std::uint8_t byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ byte) & 0xff];
  return ~crc;
}

}  // namespace assay
