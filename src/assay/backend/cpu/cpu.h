// The CPU backend: Highway kernels, one set per instruction set with native FMA, chosen at run time. Ops run on the reference
// where no such instruction set exists.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "assay/backend/host.h"
#include "assay/base/result.h"

namespace assay::cpu {

enum class Simd { kAvx2, kAvx512, kNeon };
enum class DigitUnit;  // digit_units.h

std::string_view Name(Simd simd);   // "avx2", "avx512", "neon"
std::vector<Simd> SupportedSimd();  // what this machine can run and this build contains, best first

// Digits are multiplied by the fastest unit that this machine has, or by the one given, which must be one of DigitUnits(simd).
std::unique_ptr<HostBackend> MakeCpuBackend(Simd simd, ThreadPool& pool);
std::unique_ptr<HostBackend> MakeCpuBackend(Simd simd, DigitUnit unit, ThreadPool& pool);

}  // namespace assay::cpu
