#include "assay/backend/ref/ref_backend.h"

#include <vector>

#include "assay/backend/by_reference.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {
namespace {

class RefBackend final : public HostBackend {
 public:
  using HostBackend::HostBackend;

  std::string_view name() const override { return "ref"; }

  void Run(const KernelArgs& args) override { RunByReference(args, pool()); }

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

std::unique_ptr<HostBackend> MakeRefBackend(ThreadPool& pool) { return std::make_unique<RefBackend>(pool); }

}  // namespace assay::ref
