// What the formulas of adam and adamw make of their scalars. Pure; thread safe.
#pragma once

#include "assay/semantics/rounded/formula_loops.h"
#include "assay/semantics/rounded/optimizers.h"

namespace assay::rounded {

template <class T>
AdamScalars<T> AdamScalarsOf(const KernelArgs& args, bool decoupled) {
  const Attrs& a = args.attrs();
  return AdamScalarsOf<T>({a.Float(0), a.Float(1), a.Float(2), a.Float(3), decoupled}, *args.In<float>(4), *args.In<float>(5),
                          *args.In<std::int64_t>(6));
}

}  // namespace assay::rounded
