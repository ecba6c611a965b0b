// The cases of ops that vectors are made of: some of each op's own, and some beside them. Pure.
#pragma once

#include <vector>

#include "assay/graph/op_def.h"

namespace assay::docs {

// Without digits, for vectors of rounded ops too; and with digits.
std::vector<OpCase> CasesOfVectors(const OpDef& def);
std::vector<OpCase> DigitCasesOfVectors(const OpDef& def);

}  // namespace assay::docs
