// The settings of a job as the parameters of a run, which trackers of experiments show as text. Pure functions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "assay/job/job.h"

namespace assay::tracking {

using Params = std::vector<std::pair<std::string, std::string>>;

// "optimizer.lr" and its value, text without quotes; `name` and paths are left out, which say nothing of what is trained.
Params ParamsOf(const Job& job);

}  // namespace assay::tracking
