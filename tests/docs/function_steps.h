// The elementary functions step by step, as docs/NUMERICS.md lists them.
#pragma once

#include <string>

namespace assay::docs {

// A code block for each function: what it is of, every operation in order, what it gives.
std::string FunctionSteps();

}  // namespace assay::docs
