// What values of attention and of its gradients need.
#pragma once

#include "assay/ops/attention_geometry.h"
#include "assay/semantics/ref/derive_node.h"

namespace assay::ref::derive {

// Rows of k or v, as query head h sees them.
inline void NeedKeyRows(const ops::AttentionGeometry& g, int input, std::int64_t b, std::int64_t h, Range keys,
                        NeedList& needs) {
  for (std::int64_t j = keys.begin; j < keys.end; ++j) needs.Add(input, g.KeyRow(b, j, g.KeyHead(h)), g.d);
}

}  // namespace assay::ref::derive
