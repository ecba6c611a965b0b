// The op table and the names of its entries. op::matmul is an OpIndex. Constant; thread safe.
#pragma once

#include "assay/graph/autodiff.h"
#include "assay/graph/op_def.h"

namespace assay {

namespace op {
enum : OpIndex {
#define ASSAY_OP(name, wire_id, version, kind, results) name,
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
  kCount
};
}  // namespace op

const OpTable& Ops();

// The ops that Gradients() emits by itself.
inline constexpr AutodiffOps kAutodiffOps{.add = op::add, .fill = op::fill};

}  // namespace assay
