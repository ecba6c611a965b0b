// One HTML file that carries evidence and the judge (judge.wasm), and judges the one by the other wherever it is opened: offline, from a disk, with scripts restricted by
// hash to its own (docs/BROWSER_JUDGE.md). Pure functions; thread safe.
#pragma once

#include <string>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/base/result.h"

namespace assay::browser {

struct PageOptions {
  std::string name;                    // what the evidence is called
  std::string job{};                   // 64 hex digits: the evidence has to be about this job; empty: any
  std::vector<std::string> signers{};  // keys whom it has to convict
};

// judge.wasm, where this build has it; otherwise an error that says how to get it.
Result<ByteSpan> EmbeddedJudge();

std::string JudgePage(ByteSpan judge, ByteSpan evidence, const PageOptions& options);

}  // namespace assay::browser
