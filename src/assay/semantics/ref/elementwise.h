// Loops of the elementwise reference kernels: element i of the output from element i of the inputs. Pure; thread safe.
#pragma once

#include "assay/semantics/kernel_args.h"

namespace assay::ref {

template <class Function>
void Unary(const KernelArgs& args, Range range, const Function& function) {
  const float* x = args.In<float>(0);
  float* y = args.Out<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) y[i] = function(x[i]);
}

template <class Function>
void Binary(const KernelArgs& args, Range range, const Function& function) {
  const float* a = args.In<float>(0);
  const float* b = args.In<float>(1);
  float* y = args.Out<float>(0);
  for (std::int64_t i = range.begin; i < range.end; ++i) y[i] = function(a[i], b[i]);
}

}  // namespace assay::ref
