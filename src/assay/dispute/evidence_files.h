// What a referee writes as evidence, so that a judge reads all of it: as many files as it takes.
//
// Every charge stands alone, so each file holds job, receipts and some of the charges in their order, and is valid evidence by itself. Each convicts
// whom its charges convict, and says nothing against the others. Pure; thread safe.
#pragma once

#include <cstddef>
#include <vector>

#include "assay/dispute/evidence.h"

namespace assay::dispute {

struct EvidenceFiles {
  std::vector<Evidence> files{};        // none: not even the receipts fit
  std::vector<std::size_t> left_out{};  // positions of the charges that fit into no file
};

// The evidence itself where it fits.
EvidenceFiles InFiles(const Evidence& evidence, const EvidenceLimits& limits = {});

// Whoever fell by a charge that is in no file did so by the referee's word alone.
void LeaveOut(const EvidenceFiles& files, Judgement& judgement);

}  // namespace assay::dispute
