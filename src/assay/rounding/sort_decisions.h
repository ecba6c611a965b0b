// Decisions in the order of their positions, as a log has them. Pure function.
#pragma once

#include <vector>

#include "assay/rounding/follow.h"

namespace assay::rounding {

// Stable. What is in order already, or nearly nothing, costs little; everything else a few passes over the decisions.
void SortByPosition(std::vector<Decision>& decisions);

}  // namespace assay::rounding
