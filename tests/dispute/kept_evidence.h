// Evidence of disputes that tests play, for whoever judges it again: written to the folder that the environment variable ASSAY_KEEP_EVIDENCE names, if there is one, under its hash.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "assay/dispute/evidence.h"
#include "assay/sign/key.h"

namespace assay::dispute {

void KeepEvidence(const Evidence& evidence);

// One side of a trial between two accounts, and what it answered.
struct Witness {
  const Bytes* job = nullptr;
  const Bytes* program = nullptr;
  const std::string* receipt = nullptr;
  const SigningKey* key = nullptr;
  std::vector<std::pair<Question, Bytes>> said{};
};

// The evidence of a trial that came to `finding`, signed by both.
Evidence EvidenceOfTrial(const Witness& a, const Witness& b, const Finding& finding);

}  // namespace assay::dispute
