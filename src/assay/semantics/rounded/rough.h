// Rough bounds: more than the running bounds of formula.h, and cheap. A trainer needs the true bound only of results that lie near a boundary; that the others do not is shown by a
// bound that may be some hundred times too large. Derivations are beside each (rough.cc, adam.cc). Pure; thread safe.
#pragma once

#include <span>

#include "assay/semantics/kernel_args.h"

namespace assay::rounded {

// e[i] is at least the bound that Formula<Near> has for element range.begin + i of the output, whose plain values are y; infinite or no number where that cannot be said.
using Rough = void (*)(const KernelArgs& args, int output, Range range, const double* y, double* e);

// Null for ops whose bounds are cheap, or rare, or come with those of the other outputs.
Rough RoughOf(OpIndex op);

// Elements `range` of all outputs of an elementwise op at once: y[k] as Formula<double> gives them for output k, and e[k] as above where e is not empty.
using Together = void (*)(const KernelArgs& args, Range range, std::span<double* const> y, std::span<double* const> e);

// Null for ops whose outputs share little work.
Together TogetherOf(OpIndex op);

}  // namespace assay::rounded
