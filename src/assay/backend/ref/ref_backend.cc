#include "assay/backend/ref/ref_backend.h"

#include <algorithm>
#include <vector>

#include "assay/semantics/ref/ref.h"

namespace assay::ref {
namespace {

constexpr std::int64_t kGrain = 1024;

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

std::unique_ptr<HostBackend> MakeRefBackend(ThreadPool& pool) { return std::make_unique<RefBackend>(pool); }

}  // namespace assay::ref
