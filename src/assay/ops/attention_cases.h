// Test cases of attention and its gradient: the same geometries for both.
#pragma once

#include <vector>

#include "assay/graph/op_def.h"

namespace assay::ops {

std::vector<OpCase> AttentionCases();
std::vector<OpCase> AttentionGradCases();

}  // namespace assay::ops
