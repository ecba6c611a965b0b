// Outcome: how a dispute among the runs of an order ended, as the entry of its life says it (docs/formats/life.md). Pure functions.
//
// The law of disputes decides (dispute/); this only names leases where the law names parties. The coordinator, the client of a sealed order and everybody who
// reads a life use the same functions, so that there is one opinion of what evidence is worth.
#pragma once

#include <span>
#include <vector>

#include "assay/base/bytes.h"
#include "assay/dispute/arbitrate.h"
#include "assay/dispute/evidence.h"
#include "assay/life/life.h"

namespace assay::platform {

// A dispute that is over: what the life says of it, and the files of evidence that it names, in the same order.
struct Ruling {
  life::Judged judged{};
  std::vector<Bytes> evidence{};
};

// `result` is of peers given in the order of `among`, with the receipts of the life. Convicted is whom the files of evidence convict. Whoever lost without that (no
// answer, misled by another's rounding log, a receipt that is no claim about the job, evidence that fits into no file) is silent. It is decided where the law says
// so and those who are left promise the same. A file that convicts nobody whom those before it do not is left out, unless it is the only one. `start`: as for
// dispute::Judge; `limits`: of a file.
Result<Ruling> RulingOn(const life::Life& life, const std::vector<life::LeaseNumber>& among, const dispute::Arbitration& result,
                        const dispute::StartingBytes& start = {}, const dispute::EvidenceLimits& limits = {});

// Whether the files of evidence, in full, are those that `judged` names and together convict everybody whom `judged` does, by the receipts of this life. An error
// names the first lease that they do not convict. Without convictions there is nothing to check. `start`: as for dispute::Judge.
Status CheckConvictions(const life::Life& life, const life::Judged& judged, std::span<const Bytes> evidence,
                        const dispute::StartingBytes& start = {});

}  // namespace assay::platform
