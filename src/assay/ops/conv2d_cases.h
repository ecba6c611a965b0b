// Test cases of the convolutions: the same geometries for the op and its two gradients.
#pragma once

#include <vector>

#include "assay/graph/op_def.h"

namespace assay::ops {

std::vector<OpCase> Conv2dCases();
std::vector<OpCase> Conv2dGradXCases();
std::vector<OpCase> Conv2dGradWCases();

}  // namespace assay::ops
