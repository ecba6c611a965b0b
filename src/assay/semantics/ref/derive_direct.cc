// General ops of which an element needs a few elements of each input, whatever the shapes: they are computed at once.
#include "assay/semantics/ref/derive_ops.h"

namespace assay::ref::derive {

#define ASSAY_DIRECT(name) \
  NodePtr Derive_##name(const OpInstance&, int, std::int64_t) { return nullptr; }
ASSAY_DIRECT(transpose)
ASSAY_DIRECT(slice)
ASSAY_DIRECT(pad)
ASSAY_DIRECT(concat)
ASSAY_DIRECT(cross_entropy_grad)
ASSAY_DIRECT(batchnorm_infer)
ASSAY_DIRECT(global_avg_pool_grad)
#undef ASSAY_DIRECT

}  // namespace assay::ref::derive
