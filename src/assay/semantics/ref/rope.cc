// rope: each pair (x[j], x[j + D/2]) is turned by its position times the pair's frequency.
#include "assay/semantics/ref/ref.h"
#include "assay/semantics/ref/rope_element.h"

namespace assay::ref {

void Ref_rope(const KernelArgs& args, int, Range range) {
  for (std::int64_t i = range.begin; i < range.end; ++i) args.Out<float>(0)[i] = RopeElement(*args.op, args.In<float>(0), i);
}

}  // namespace assay::ref
