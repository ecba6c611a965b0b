// Entry point of one target's libFuzzer binary; ASSAY_FUZZ_TARGET is its name.
#include <cstddef>
#include <cstdint>

#include "assay/base/check.h"
#include "fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const assay::fuzz::Target& target : assay::fuzz::Targets()) {
    if (target.name != ASSAY_FUZZ_TARGET) continue;
    target.run({data, size});
    return 0;
  }
  assay::CheckFailed("a known target", __FILE__, __LINE__);
}
