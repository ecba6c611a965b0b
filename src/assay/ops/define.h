// One function per op, each in the file of its family: fills in everything of OpDef that the table's line does not say.
#pragma once

#include "assay/graph/autodiff.h"
#include "assay/graph/op_def.h"

namespace assay::ops {

#define ASSAY_OP(name, wire_id, version, kind, results) OpDef Define_##name();
#include "assay/ops/op_table.inc"
#undef ASSAY_OP

}  // namespace assay::ops
