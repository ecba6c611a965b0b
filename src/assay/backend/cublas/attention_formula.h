// Attention and its gradients where an input is infinite or not a number: by the formula, which leaves hidden keys out instead of multiplying by zero.
//
// The launchers do nothing where *not_finite is 0 on the device; elsewhere they put every element of every output. Slow. `scratch` is ScratchOfFormula bytes of device memory.
#pragma once

#include "assay/backend/cublas/attention_heads.h"

namespace assay::cublas::attention {

std::size_t ScratchOfFormula(const Geometry& g, const Context& context);

void RunFormula_attention(const KernelArgs& args, std::span<const Sink> sinks, const int* not_finite, void* scratch,
                          Context& context);
void RunFormula_attention_grad(const KernelArgs& args, std::span<const Sink> sinks, const int* not_finite, void* scratch,
                               Context& context);

}  // namespace assay::cublas::attention
