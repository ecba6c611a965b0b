// Elementwise ops with attributes, and dropout.
#include "assay/numerics/random.h"
#include "assay/semantics/rounded/formula_loops.h"

namespace assay::rounded {

template <class T>
void Formula_fill(const KernelArgs& args, int, Range range, T* out) {
  std::fill(out, out + range.size(), T(args.attrs().Float(1)));
}

template <class T>
void Formula_scale(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, [factor = T(args.attrs().Float(0))](float x) { return T(x) * factor; });
}

template <class T>
void Formula_add_scalar(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, [term = T(args.attrs().Float(0))](float x) { return T(x) + term; });
}

template <class T>
void Formula_pow(const KernelArgs& args, int, Range range, T* out) {
  Unary(args, range, out, [exponent = T(args.attrs().Float(0))](float x) { return Pow(T(x), exponent); });
}

// The factor is two IEEE operations and the product is a third. None of them can be fused with another, so that all machines agree.
template <class T>
void Formula_dropout(const KernelArgs& args, int, Range range, T* out) {
  const float p = args.attrs().Float(0);
  const numerics::DrawKey key = numerics::MakeDrawKey(args.In<std::uint32_t>(1), args.attrs().Int(1));
  const std::uint32_t threshold = numerics::DropoutThreshold(p);
  const T factor = T(1.0f) / (T(1.0f) - T(p));
  const float* x = args.In<float>(0);
  for (std::int64_t i = range.begin; i < range.end;) {
    const PhiloxBlock draws = numerics::DrawBlock(key, static_cast<std::uint32_t>(i / 4));
    for (const std::int64_t end = std::min(range.end, i / 4 * 4 + 4); i < end; ++i) {
      out[i - range.begin] = draws[static_cast<std::size_t>(i % 4)] >= threshold ? T(x[i]) * factor : T(0.0f);
    }
  }
}

ASSAY_FORMULA(fill);
ASSAY_FORMULA(scale);
ASSAY_FORMULA(add_scalar);
ASSAY_FORMULA(pow);
ASSAY_FORMULA(dropout);

}  // namespace assay::rounded
