// The root of the tree of each op. Elementwise ops have none: an element needs one element of each input. A general op without one does not link.
#pragma once

#include "assay/semantics/ref/derive_node.h"

namespace assay::ref::derive {

// Null: one element needs few elements, whatever the shapes. The op must outlive the tree.
#define ASSAY_OP(name, wire_id, version, kind, results) \
  NodePtr Derive_##name(const OpInstance& op, int output, std::int64_t element);
#include "assay/ops/op_table.inc"
#undef ASSAY_OP

}  // namespace assay::ref::derive
