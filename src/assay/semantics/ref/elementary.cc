// The definition of the elementary functions: the scalar instances of assay/numerics/functions.h.
#include "assay/numerics/functions.h"
#include "assay/semantics/ref/elementwise.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {

using numerics::Scalar;

void Ref_exp(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Exp<Scalar>); }
void Ref_log(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Log<Scalar>); }
void Ref_sqrt(const KernelArgs& args, int, Range range) { Unary(args, range, Scalar::Sqrt); }
void Ref_rsqrt(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Rsqrt<Scalar>); }
void Ref_tanh(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Tanh<Scalar>); }
void Ref_erf(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Erf<Scalar>); }
void Ref_sin(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Sin<Scalar>); }
void Ref_cos(const KernelArgs& args, int, Range range) { Unary(args, range, numerics::Cos<Scalar>); }

void Ref_pow(const KernelArgs& args, int, Range range) {
  Unary(args, range, [exponent = args.attrs().Float(0)](float x) { return numerics::PowScalar(x, exponent); });
}

}  // namespace assay::ref
