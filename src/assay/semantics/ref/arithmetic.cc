// The definition of fill, scale, add_scalar, broadcast_to and reshape.
#include "assay/semantics/ref/elementwise.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {

void Ref_fill(const KernelArgs& args, int, Range range) {
  float* y = args.Out<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) y[i] = args.attrs().Float(1);
}

void Ref_scale(const KernelArgs& args, int, Range range) {
  Unary(args, range, [factor = args.attrs().Float(0)](float x) { return x * factor; });
}

void Ref_add_scalar(const KernelArgs& args, int, Range range) {
  Unary(args, range, [term = args.attrs().Float(0)](float x) { return x + term; });
}

void Ref_reshape(const KernelArgs& args, int, Range range) {
  Unary(args, range, [](float x) { return x; });
}

void Ref_broadcast_to(const KernelArgs& args, int, Range range) {
  const Shape& from = args.in_type(0).shape;
  const Shape& to = args.out_type(0).shape;
  const float* x = args.In<float>(0);
  float* y = args.Out<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    std::int64_t rest = i, index = 0, step = 1;
    for (int axis = 0; axis < from.rank(); ++axis) {  // from the last axis to the first
      if (from.Back(axis) != 1) index += rest % to.Back(axis) * step;
      rest /= to.Back(axis);
      step *= from.Back(axis);
    }
    y[i] = x[index];
  }
}

}  // namespace assay::ref
