// The plain ops (assay/ops/plain_ops.inc).
#include "assay/semantics/rounded/elements.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {

#define ASSAY_UNARY_OP(name, bits, formula)                               \
  template <class T>                                                      \
  void Formula_##name(const KernelArgs& args, int, Range range, T* out) { \
    Unary(args, range, out, [](float x) { return formula; });             \
  }                                                                       \
  ASSAY_FORMULA(name);
#define ASSAY_BINARY_OP(name, bits, formula)                              \
  template <class T>                                                      \
  void Formula_##name(const KernelArgs& args, int, Range range, T* out) { \
    Binary(args, range, out, [](float x, float y) { return formula; });   \
  }                                                                       \
  ASSAY_FORMULA(name);
#include "assay/ops/plain_ops.inc"
#undef ASSAY_UNARY_OP
#undef ASSAY_BINARY_OP

}  // namespace assay::rounded
