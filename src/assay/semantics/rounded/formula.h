// Every op as a formula in real arithmetic, evaluated in a number type (docs/ROUNDING.md, sections 2 and 3).
//
// T is double (the plain FP64 evaluation), Bounded<double> (with its error bound) or Bounded<DoubleDouble> (a referee's truth, with the bound that FP64 evaluations keep). Formulas are
// those of docs/NUMERICS.md, section 5, read as real arithmetic; inputs are binary32. A formula computes elements [range.begin, range.end) of one output into out[0 ...] and reads no
// input element outside the op's declared dependencies. Outputs that are integers have no formula: see RunExact. Pure; thread safe.
#pragma once

#include <string_view>

#include "assay/numerics/bounded.h"
#include "assay/numerics/double_double.h"
#include "assay/semantics/kernel_args.h"

namespace assay::rounded {

using Near = numerics::Bounded<double>;
using True = numerics::Bounded<numerics::DoubleDouble>;

#define ASSAY_OP(name, wire_id, version, kind, results) \
  template <class T>                                    \
  void Formula_##name(const KernelArgs& args, int output, Range range, T* out);
#include "assay/ops/op_table.inc"
#undef ASSAY_OP

template <class T>
using Formula = void (*)(const KernelArgs& args, int output, Range range, T* out);

// The formula of an op; T is one of the three types above.
template <class T>
Formula<T> FormulaOf(OpIndex op);

// Elements `range` of an output that holds integers (the places of maxima): exact.
void RunExact(const KernelArgs& args, int output, Range range);

}  // namespace assay::rounded
