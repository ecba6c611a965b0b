#include "assay/backend/cpu/digit_units.h"

#include "assay/base/check.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace assay::cpu {
namespace {

#if defined(__x86_64__)
// Whether the processor has AMX-int8 and the kernel lets this process use it: tiles are large, and it keeps them only for those who ask.
bool MayUseTiles() {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const bool tiles = (d >> 24 & 1) != 0, int8 = (d >> 25 & 1) != 0;
  if (!tiles || !int8) return false;
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

}  // namespace

std::string_view Name(DigitUnit unit) {
  switch (unit) {
    case DigitUnit::kAmx: return "amx";
    case DigitUnit::kAmxModel: return "amxmodel";
    case DigitUnit::kVnni: return "vnni";
    case DigitUnit::kWide: return "wide";
    case DigitUnit::kNeonDot: return "dot";
    case DigitUnit::kNeon: return "pairs";
  }
  CheckFailed("known digit unit", __FILE__, __LINE__);
}

std::vector<DigitUnit> DigitUnits(Simd simd) {
  std::vector<DigitUnit> units;
#if defined(__x86_64__)
  if (simd == Simd::kAvx512) {
    static const bool tiles = MayUseTiles();
    if (tiles) units.push_back(DigitUnit::kAmx);
    if (__builtin_cpu_supports("avx512vnni")) units.push_back(DigitUnit::kVnni);
  }
  units.push_back(DigitUnit::kWide);
  if (simd == Simd::kAvx512) units.push_back(DigitUnit::kAmxModel);
#elif defined(__aarch64__)
  static_cast<void>(simd);
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) units.push_back(DigitUnit::kNeonDot);
  units.push_back(DigitUnit::kNeon);
#else
  static_cast<void>(simd);
#endif
  return units;
}

}  // namespace assay::cpu
