// Two runs of one small job, one of them a lie, and a dispute between them: what the targets about disputes start from. Made by the project's own
// code, so that it follows the formats.
#pragma once

#include "assay/dispute/claim.h"
#include "assay/dispute/evidence.h"
#include "assay/sign/key.h"
#include "assay/train/prepare.h"
#include "memory_run.h"

namespace assay::fuzz {

struct Stage {
  Stage();
  PreparedJob prepared;
  SigningKey good, bad;
  dispute::MemoryRun honest;
  dispute::MemoryRun liar;  // one wrong bit of node 0's output and of the state after step 3
  dispute::Claim honest_claim, liar_claim;
};

// Of a dispute between the two that was played to its end; it convicts the liar.
dispute::Evidence PlayedEvidence(Stage& stage, const Digest& nonce);

}  // namespace assay::fuzz
