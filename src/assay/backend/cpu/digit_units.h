// The units that multiply digits, and which of them this machine may use. See digit_gemm.h.
#pragma once

#include <string_view>
#include <vector>

#include "assay/backend/cpu/cpu.h"

namespace assay::cpu {

enum class DigitUnit {
  kAmx,       // tiles of AMX-int8
  kAmxModel,  // the same kernel on a scalar model of the tile instructions, for tests
  kVnni,      // AVX-512 VNNI
  kWide,      // 16-bit products of AVX-512 or AVX2
  kNeonDot,   // NEON with the dot product extension
  kNeon,      // NEON without
};

std::string_view Name(DigitUnit unit);

// Those that run on this machine with the instruction set, the fastest first, a model last. Never empty. Asks the kernel for permission
// to use tiles where the processor has them.
std::vector<DigitUnit> DigitUnits(Simd simd);

}  // namespace assay::cpu
