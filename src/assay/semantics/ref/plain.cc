// The definition of the plain ops (assay/ops/plain_ops.inc), and of pow: the scalar instances of assay/numerics.
#include "assay/numerics/activations.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/scalar.h"
#include "assay/semantics/ref/elementwise.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {

using namespace numerics;  // where the table finds its functions
using P = Scalar;

#define ASSAY_UNARY_OP(name, bits, formula)                   \
  void Ref_##name(const KernelArgs& args, int, Range range) { \
    Unary(args, range, [](float x) { return bits; });         \
  }
#define ASSAY_BINARY_OP(name, bits, formula)                    \
  void Ref_##name(const KernelArgs& args, int, Range range) {   \
    Binary(args, range, [](float x, float y) { return bits; }); \
  }
#include "assay/ops/plain_ops.inc"
#undef ASSAY_UNARY_OP
#undef ASSAY_BINARY_OP

void Ref_pow(const KernelArgs& args, int, Range range) {
  Unary(args, range, [exponent = args.attrs().Float(0)](float x) { return PowScalar(x, exponent); });
}

}  // namespace assay::ref
