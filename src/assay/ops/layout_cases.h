// Test cases of the layout ops.
#pragma once

#include <vector>

#include "assay/graph/op_def.h"

namespace assay::ops {

std::vector<OpCase> TransposeCases();
std::vector<OpCase> SliceCases();
std::vector<OpCase> PadCases();
std::vector<OpCase> ConcatCases();

}  // namespace assay::ops
