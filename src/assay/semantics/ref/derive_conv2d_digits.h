// Trees of conv2d and its gradients by digits. Pure.
#pragma once

#include "assay/semantics/ref/derive_node.h"

namespace assay::ref::derive {

NodePtr DeriveConv2dByDigits(const OpInstance& op, std::int64_t element);
NodePtr DeriveConv2dGradXByDigits(const OpInstance& op, std::int64_t element);
NodePtr DeriveConv2dGradWByDigits(const OpInstance& op, std::int64_t element);

}  // namespace assay::ref::derive
