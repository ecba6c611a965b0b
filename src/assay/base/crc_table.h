// What reflected 32-bit checksums are made of: the remainders of all bytes by a polynomial, and the sum over bytes. Pure; thread safe.
#pragma once

#include <array>
#include <cstdint>

#include "assay/base/bytes.h"

namespace assay {

using CrcTable = std::array<std::uint32_t, 256>;

constexpr CrcTable MakeCrcTable(std::uint32_t reflected_polynomial) {
  CrcTable table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t remainder = i;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? reflected_polynomial : 0u);
    table[i] = remainder;
  }
  return table;
}

inline std::uint32_t CrcOf(const CrcTable& table, ByteSpan bytes) {
  std::uint32_t crc = 0xffffffffu;
  for (std::uint8_t byte : bytes) crc = (crc >> 8) ^ table[(crc ^ byte) & 0xff];
  return ~crc;
}

}  // namespace assay
