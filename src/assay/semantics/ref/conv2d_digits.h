// conv2d and its gradients by digits (docs/NUMERICS.md, section 7): any range of their output. Pure; thread safe.
#pragma once

#include "assay/semantics/kernel_args.h"

namespace assay::ref {

void Conv2dByDigits(const KernelArgs& args, Range range);
void Conv2dGradXByDigits(const KernelArgs& args, Range range);
void Conv2dGradWByDigits(const KernelArgs& args, Range range);

}  // namespace assay::ref
