// The cost of rounding logs: steps of an fp64-rounded job run plainly, writing decisions down, and following them, by turns.
#pragma once

#include "assay/cli/command.h"
#include "assay/train/prepare.h"

namespace assay::cli {

Result<int> BenchRounding(const PreparedJob& prepared, const Compute& compute, int steps, bool json);

}  // namespace assay::cli
