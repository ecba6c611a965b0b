// Outcome: how a dispute among the runs of an order ended, as the entry of its life says it (docs/formats/life.md). Pure functions.
//
// The law of disputes decides (dispute/); this only names leases where the law names parties. The coordinator, the client of a sealed order and everybody who
// reads a life use the same functions, so that there is one opinion of what evidence is worth.
#pragma once

#include <vector>

#include "assay/base/bytes.h"
#include "assay/dispute/arbitrate.h"
#include "assay/dispute/evidence.h"
#include "assay/life/life.h"

namespace assay::platform {

// `result` is of peers given in the order of `among`, with the receipts of the life; `judgement` is what a judge makes of its evidence, which has the hash
// `evidence`. Convicted is whom the evidence convicts. Whoever lost without that (no answer, misled by another's rounding log, a receipt that is no claim about
// the job) is silent. It is decided where the law says so and those who are left promise the same.
life::Judged JudgedBy(const life::Life& life, const std::vector<life::LeaseNumber>& among, const dispute::Arbitration& result,
                      const dispute::Judgement& judgement, const Digest& evidence);

// Whether the evidence, in full, is the one that `judged` names and convicts everybody whom `judged` does, by the receipts of this life. An error names the first
// lease that it does not convict. Without convictions there is nothing to check. `start`: as for dispute::Judge.
Status CheckConvictions(const life::Life& life, const life::Judged& judged, ByteSpan evidence,
                        const dispute::StartingBytes& start = {});

}  // namespace assay::platform
