// Whether one rounding log of a step holds everything that another says. Pure; thread safe.
#pragma once

#include "assay/base/bytes.h"
#include "assay/rounding/rounder.h"

namespace assay::rounding {

// Whether both are logs about the same number of elements, and every decision of `part` (by the published rule, every symbol that says which way) is in `log`
// too. False where one of them cannot be read.
bool HoldsAll(ByteSpan log, ByteSpan part, Rule rule);

}  // namespace assay::rounding
