// sgd, adam and adamw. Each output is computed on its own, from the inputs.
#include "assay/semantics/rounded/adam.h"
#include "assay/semantics/rounded/formula_loops.h"
#include "assay/semantics/rounded/optimizers.h"

namespace assay::rounded {
namespace {

template <class T>
void Adam(const KernelArgs& args, int output, Range range, T* out, bool decoupled) {
  const AdamScalars<T> s = AdamScalarsOf<T>(args, decoupled);
  const float *p = args.In<float>(0), *grad = args.In<float>(1), *m = args.In<float>(2), *v = args.In<float>(3);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    out[i - range.begin] = AdamElement(s, output, T(p[i]), T(grad[i]), T(m[i]), T(v[i]));
  }
}

}  // namespace

template <class T>
void Formula_sgd(const KernelArgs& args, int output, Range range, T* out) {
  const Attrs& a = args.attrs();
  const SgdScalars<T> s =
      SgdScalarsOf<T>(a.Float(0), a.Float(1), a.Float(2), a.Int(3) != 0, *args.In<float>(3), *args.In<float>(4));
  const float *p = args.In<float>(0), *grad = args.In<float>(1), *m = args.In<float>(2);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    out[i - range.begin] = SgdElement(s, output, T(p[i]), T(grad[i]), T(m[i]));
  }
}

template <class T>
void Formula_adam(const KernelArgs& args, int output, Range range, T* out) {
  Adam(args, output, range, out, false);
}

template <class T>
void Formula_adamw(const KernelArgs& args, int output, Range range, T* out) {
  Adam(args, output, range, out, true);
}

ASSAY_FORMULA(sgd);
ASSAY_FORMULA(adam);
ASSAY_FORMULA(adamw);

}  // namespace assay::rounded
