// The definition of sgd, adam and adamw: the scalar instances of assay/numerics/optimizers.h. Each output is computed on its own.
#include <array>

#include "assay/numerics/optimizers.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {
namespace {

using numerics::Scalar;

void Adam(const KernelArgs& args, int output, Range range, bool decoupled) {
  const Attrs& a = args.attrs();
  const numerics::AdamScalars scalars =
      numerics::MakeAdamScalars<numerics::Scalar>(a.Float(0), a.Float(1), a.Float(2), a.Float(3), decoupled, *args.In<float>(4),
                                                  *args.In<float>(5), *args.In<std::int64_t>(6));
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    float p = args.In<float>(0)[i], m = args.In<float>(2)[i], v = args.In<float>(3)[i];
    numerics::AdamUpdate<Scalar>(scalars, args.In<float>(1)[i], p, m, v);
    out[i] = std::array{p, m, v}[static_cast<std::size_t>(output)];
  }
}

}  // namespace

void Ref_sgd(const KernelArgs& args, int output, Range range) {
  const Attrs& a = args.attrs();
  const numerics::SgdScalars scalars = numerics::MakeSgdScalars<numerics::Scalar>(
      a.Float(0), a.Float(1), a.Float(2), a.Int(3) != 0, *args.In<float>(3), *args.In<float>(4));
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    float p = args.In<float>(0)[i], m = args.In<float>(2)[i];
    numerics::SgdUpdate<Scalar>(scalars, args.In<float>(1)[i], p, m);
    out[i] = std::array{p, m}[static_cast<std::size_t>(output)];
  }
}

void Ref_adam(const KernelArgs& args, int output, Range range) { Adam(args, output, range, false); }
void Ref_adamw(const KernelArgs& args, int output, Range range) { Adam(args, output, range, true); }

}  // namespace assay::ref
