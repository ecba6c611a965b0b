// judge.wasm as a part of this program, where the build has one: ASSAY_JUDGE_WASM is its path.
#include "assay/browser/page.h"

#ifdef ASSAY_JUDGE_WASM
asm(R"(
.pushsection .rodata
.global assay_judge_wasm
.global assay_judge_wasm_end
assay_judge_wasm:
.incbin ")" ASSAY_JUDGE_WASM R"("
assay_judge_wasm_end:
.popsection
)");
extern "C" const std::uint8_t assay_judge_wasm[], assay_judge_wasm_end[];
#endif

namespace assay::browser {

Result<ByteSpan> EmbeddedJudge() {
#ifdef ASSAY_JUDGE_WASM
  return ByteSpan(assay_judge_wasm, static_cast<std::size_t>(assay_judge_wasm_end - assay_judge_wasm));
#else
  return Err("this build has no browser judge: run scripts/bootstrap.sh wasm, configure and build again");
#endif
}

}  // namespace assay::browser
