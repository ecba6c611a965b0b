// What the formulas of adam and adamw make of their scalars. Pure; thread safe.
#pragma once

#include "assay/backend/vendor/formula_loops.h"

namespace assay::vendor {

template <class T>
struct AdamScalars {
  T factor, weight_decay, shrink, beta1, beta2, rest1, rest2, root2, eps, lr1;
  bool couples, shrinks;
};

template <class T>
AdamScalars<T> AdamScalarsOf(const KernelArgs& args, bool decoupled) {
  const Attrs& a = args.attrs();
  const T one(1.0f), beta1(a.Float(0)), beta2(a.Float(1)), weight_decay(a.Float(3)), lr(*args.In<float>(4));
  const T step(static_cast<float>(*args.In<std::int64_t>(6)));
  const bool decays = a.Float(3) != 0.0f;
  return {.factor = T(*args.In<float>(5)),
          .weight_decay = weight_decay,
          .shrink = one - lr * weight_decay,
          .beta1 = beta1,
          .beta2 = beta2,
          .rest1 = one - beta1,
          .rest2 = one - beta2,
          .root2 = Sqrt(one - Pow(beta2, step)),
          .eps = T(a.Float(2)),
          .lr1 = lr / (one - Pow(beta1, step)),
          .couples = decays && !decoupled,
          .shrinks = decays && decoupled};
}

}  // namespace assay::vendor
