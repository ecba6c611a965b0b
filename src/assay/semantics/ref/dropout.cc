// The definition of dropout: element i is kept or not by its own draw.
#include "assay/numerics/random.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {

void Ref_dropout(const KernelArgs& args, int, Range range) {
  const float p = args.attrs().Float(0);
  const numerics::DrawKey key = numerics::MakeDrawKey(args.In<std::uint32_t>(1), args.attrs().Int(1));
  const std::uint32_t threshold = numerics::DropoutThreshold(p);
  const float factor = numerics::DropoutFactor(p);
  const float* x = args.In<float>(0);
  float* y = args.Out<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    y[i] = numerics::DrawU32(key, i) >= threshold ? x[i] * factor : 0.0f;
  }
}

}  // namespace assay::ref
