// Contractions with the attribute `digits` (docs/NUMERICS.md, section 7). Each enqueues the whole op, as Run_NAME of kernels.h does for ops without it.
#pragma once

#include "assay/backend/cuda/kernels.h"

namespace assay::cuda::digits {

void Matmul(const KernelArgs& args, Context& context);
void Conv2d(const KernelArgs& args, Context& context);
void Conv2dGradX(const KernelArgs& args, Context& context);
void Conv2dGradW(const KernelArgs& args, Context& context);
void Attention(const KernelArgs& args, Context& context);
void AttentionGrad(const KernelArgs& args, Context& context);

}  // namespace assay::cuda::digits
