// How far a run has come, by what it has committed to. For those who are about to change how many steps it has.
#pragma once

#include <cstdint>

#include "assay/base/result.h"
#include "assay/run/directory.h"

namespace assay {

// The last step of which the run has an entry in its log or a snapshot; 0 when there is none. An error: the log is damaged or cannot be read. Takes no lock.
Result<std::int64_t> StepsDone(const RunDirectory& run);

}  // namespace assay
