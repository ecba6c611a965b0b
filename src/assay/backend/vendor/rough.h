// Rough bounds: more than the running bounds of formula.h, and cheap. A trainer needs the true bound only of results that lie near a boundary; that the others do not is shown by a
// bound that may be some hundred times too large. Derivations are beside each (rough.cc). Pure; thread safe.
#pragma once

#include "assay/backend/kernel.h"

namespace assay::vendor {

// e[i] is at least the bound that Formula<Near> has for element range.begin + i of the output, whose plain values are y; infinite or no number where that cannot be said.
using Rough = void (*)(const KernelArgs& args, int output, Range range, const double* y, double* e);

// Null for ops whose bounds are cheap, or rare.
Rough RoughOf(OpIndex op);

}  // namespace assay::vendor
