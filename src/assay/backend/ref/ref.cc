#include "assay/backend/ref/ref.h"

#include <algorithm>
#include <array>

#include "assay/base/check.h"
#include "assay/numerics/scalar.h"
#include "assay/ops/table.h"

namespace assay::ref {
namespace {

using RefKernel = void (*)(const KernelArgs& args, int output, Range range);

constexpr std::int64_t kGrain = 1024;

RefKernel Lookup(OpIndex op) {
  static constexpr std::array<RefKernel, op::kCount> kKernels = {
#define ASSAY_OP(name, wire_id, version, kind, results) &Ref_##name,
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
  };
  return kKernels[op];
}

class RefBackend final : public HostBackend {
 public:
  using HostBackend::HostBackend;

  std::string_view name() const override { return "ref"; }

  void Run(const KernelArgs& args) override {
    const OpIndex op = args.op->def->index;
    for (std::size_t k = 0; k < args.out.size(); ++k) {
      const std::int64_t n = args.out_type(k).elements();
      // One range per thread, because a range recomputes the statistics of its rows or columns.
      const std::int64_t grain = std::max(kGrain, (n + pool().threads() - 1) / pool().threads());
      pool().ParallelFor(
          n, grain, [&](std::int64_t begin, std::int64_t end, int) { Compute(op, args, static_cast<int>(k), {begin, end}); });
    }
  }

  // The reference has no notion of shifted pointers: fused groups shift them back.
  void RunElements(const KernelArgs& args, std::int64_t begin, std::int64_t end) override {
    const OpIndex op = args.op->def->index;
    std::vector<const void*> in(args.in.begin(), args.in.end());
    std::vector<void*> out(args.out.begin(), args.out.end());
    for (std::size_t k = 0; k < in.size(); ++k) {
      if ((args.op->def->aligned_inputs >> k & 1) == 0) continue;
      in[k] = static_cast<const char*>(in[k]) - begin * static_cast<std::int64_t>(SizeOf(args.in_type(k).dtype));
    }
    for (std::size_t k = 0; k < out.size(); ++k) {
      out[k] = static_cast<char*>(out[k]) - begin * static_cast<std::int64_t>(SizeOf(args.out_type(k).dtype));
    }
    const KernelArgs shifted{args.op, in, out};
    for (std::size_t k = 0; k < out.size(); ++k) Compute(op, shifted, static_cast<int>(k), {begin, end});
  }

  bool in_place() const override { return false; }
};

}  // namespace

void Compute(OpIndex op, const KernelArgs& args, int output, Range range) {
  const RefKernel kernel = Lookup(op);
  ASSAY_CHECK(kernel != nullptr);
  kernel(args, output, range);
  if (args.out_type(static_cast<std::size_t>(output)).dtype != DType::kF32) return;
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  for (std::int64_t i = range.begin; i < range.end; ++i) out[i] = numerics::CanonicalNan(out[i]);
}

std::unique_ptr<HostBackend> MakeRefBackend(ThreadPool& pool) { return std::make_unique<RefBackend>(pool); }

}  // namespace assay::ref
