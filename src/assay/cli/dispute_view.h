// The verdict of a dispute that was held here: what a judge makes of its evidence, and what the referee alone knows: who was not heard or took no part, under which address, and what to do next.
// Pure functions.
#pragma once

#include "assay/cli/dispute_command.h"
#include "assay/cli/verdict.h"
#include "assay/dispute/arbitrate.h"
#include "assay/dispute/evidence.h"

namespace assay::cli {

// `referee`: the key that signed the questions; null where none was needed.
VerdictView ViewOf(const DisputeOptions& options, const dispute::Arbitration& result, const dispute::Judgement& judgement,
                   const SigningKey* referee);

}  // namespace assay::cli
