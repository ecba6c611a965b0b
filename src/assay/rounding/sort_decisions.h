// Decisions in the order of their positions, as a log has them.
#pragma once

#include <vector>

#include "assay/base/thread_pool.h"
#include "assay/rounding/follow.h"

namespace assay::rounding {

// Positions differ. What is in order already costs one look at it. `scratch` is memory that is kept from call to call; the pool may be null.
void SortByPosition(std::vector<Decision>& decisions, std::vector<Decision>& scratch, ThreadPool* pool);

}  // namespace assay::rounding
