// Whether a run has nothing left to train.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/run/directory.h"
#include "assay/train/trainer.h"

namespace assay::cli {

// What came of a run that is finished: it has a receipt for `steps` steps, and the weights that the receipt signs for. None: there is something to do, or to
// complain about. Neither the data nor the key is needed to say so.
std::optional<TrainOutcome> FinishedOutcome(const RunDirectory& run, std::int64_t steps);

}  // namespace assay::cli
