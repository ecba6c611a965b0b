// The reference: scalar C++ that defines the bits of every op (docs/NUMERICS.md). Slow on purpose: one element, one plain loop.
//
// A reference kernel computes elements [range.begin, range.end) of one output and touches no input element outside the
// op's declared dependencies, so that a referee can recompute one block from the inputs of that block alone. Pure; thread safe.
#pragma once

#include "assay/semantics/kernel_args.h"

namespace assay::ref {

#define ASSAY_OP(name, wire_id, version, kind, results) void Ref_##name(const KernelArgs& args, int output, Range range);
#include "assay/ops/op_table.inc"
#undef ASSAY_OP

// Computes the elements and writes NaNs in their one canonical form. `args.out[output]` points at element 0 of the output.
void Compute(OpIndex op, const KernelArgs& args, int output, Range range);

}  // namespace assay::ref
