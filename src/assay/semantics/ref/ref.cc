#include "assay/semantics/ref/ref.h"

#include <array>

#include "assay/base/check.h"
#include "assay/numerics/scalar.h"
#include "assay/ops/table.h"

namespace assay::ref {
namespace {

using RefKernel = void (*)(const KernelArgs& args, int output, Range range);

RefKernel Lookup(OpIndex op) {
  static constexpr std::array<RefKernel, op::kCount> kKernels = {
#define ASSAY_OP(name, wire_id, version, kind, results) &Ref_##name,
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
  };
  return kKernels[op];
}

}  // namespace

void Compute(OpIndex op, const KernelArgs& args, int output, Range range) {
  const RefKernel kernel = Lookup(op);
  ASSAY_CHECK(kernel != nullptr);
  kernel(args, output, range);
  if (args.out_type(static_cast<std::size_t>(output)).dtype != DType::kF32) return;
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  for (std::int64_t i = range.begin; i < range.end; ++i) out[i] = numerics::CanonicalNan(out[i]);
}

}  // namespace assay::ref
