// Who takes part in a dispute, from the claims that were handed in: refused are claims about another job; the same claim under the same key takes part once; claims that
// promise the same form a group; keys that contradict themselves have fallen before anything is asked.
//
// Nothing depends on the order in which the claims were named. Pure.
#pragma once

#include <vector>

#include "assay/dispute/game_record.h"
#include "assay/dispute/law.h"

namespace assay::dispute {

struct Roster {
  Record record;
  // For each provider the one that takes part for it: itself, or whoever hands out the same claim of the same key.
  std::vector<ProviderId> parties;
};

Roster Enlist(const Law& law, const std::vector<Claim>& claims);

}  // namespace assay::dispute
