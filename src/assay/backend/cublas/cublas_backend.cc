#include "assay/backend/cublas/cublas_backend.h"

#include <optional>
#include <vector>

#include "assay/backend/cublas/device_rounder.h"
#include "assay/backend/cuda/cuda.h"
#include "assay/backend/node_by_node.h"
#include "assay/base/check.h"
#include "assay/ops/digits.h"
#include "assay/ops/table.h"

namespace assay::cublas {
namespace {

// Null for ops that only move values: the CUDA backend's kernels give the same, up to the grid.
Kernel KernelOf(OpIndex op) {
  static constexpr Kernel kKernels[] = {
#define ASSAY_ROUNDED_Moved(name) nullptr,
#define ASSAY_ROUNDED_Exact(name) &Run_##name,
#define ASSAY_ROUNDED_Bounded(name) &Run_##name,
#define ASSAY_OP(name, wire_id, version, kind, results) ASSAY_ROUNDED_##results(name)
#include "assay/ops/op_table.inc"
#undef ASSAY_OP
#undef ASSAY_ROUNDED_Bounded
#undef ASSAY_ROUNDED_Exact
#undef ASSAY_ROUNDED_Moved
  };
  return kKernels[op];
}

class CublasBackend final : public Backend {
 public:
  CublasBackend(const rounded::Options& options, std::unique_ptr<Backend> device, Cublas blas, ThreadPool& pool)
      : rounds_(options.precision == rounded::Precision::kFp64Rounded),
        device_(std::move(device)),
        rounder_(rounds_ ? options.bits : numerics::Grid::kMaxBits),
        context_(cuda::ContextOf(*device_), std::move(blas), !rounds_),
        sinks_(rounder_, device_->memory(), context_.stream()) {
    rounder_.set_pool(&pool);
  }

  std::string_view name() const override { return "cublas"; }
  MemorySpace& memory() override { return device_->memory(); }
  rounding::Rounder* rounder() override { return rounds_ ? &rounder_ : nullptr; }

  void Run(const KernelArgs& args) override {
    ASSAY_CHECK(ops::DigitsOf(*args.op) == 0);  // jobs of these precisions have none (job/limits.cc)
    if (args.op->def->results == Results::kMoved) return Move(args);
    const std::vector<Sink> sinks = sinks_.SinksFor(args, rounds_);
    KernelOf(args.op->def->index)(args, sinks, context_);
  }

  // Each result has its number, in the order of the nodes.
  void RunGroup(const Group& group) override {
    RunNodeByNode(group, memory(), slots_, [&](const KernelArgs& args) { Run(args); });
  }
  bool in_place() const override { return true; }

  std::vector<Digest> TensorRoots(std::span<const ByteSpan> tensors) override { return device_->TensorRoots(tensors); }
  void QueueLeafHashes(ByteSpan tensor) override { device_->QueueLeafHashes(tensor); }
  std::vector<Digest> TakeLeafHashes() override { return device_->TakeLeafHashes(); }
  std::unique_ptr<Recording> Record(const std::function<void()>&) override { return nullptr; }
  void Wait() override { device_->Wait(); }
  std::size_t peak_bytes() const override { return device_->peak_bytes(); }
  std::optional<std::size_t> free_bytes() const override { return device_->free_bytes(); }

 private:
  void Move(const KernelArgs& args) {
    device_->Run(args);
    const numerics::Grid& grid = sinks_.grid();
    if (grid.bits() == numerics::Grid::kMaxBits) return;
    for (std::size_t k = 0; k < args.out.size(); ++k) {
      if (args.out_type(k).dtype == DType::kF32)
        RoundInPlace(grid, args.Out<float>(k), args.out_type(k).elements(), context_.stream());
    }
  }

  const bool rounds_;
  std::unique_ptr<Backend> device_;
  rounding::Rounder rounder_;
  Context context_;
  DeviceRounder sinks_;
  Allocation slots_;
};

}  // namespace

Result<std::unique_ptr<Backend>> MakeCublasBackend(const rounded::Options& options, ThreadPool& pool) {
  if (options.rule != rounding::Rule::kBound) return Err("--device cuda: round_rule \"paper\" runs on the CPU alone");
  ASSAY_ASSIGN(std::unique_ptr<Backend> device, cuda::MakeCudaBackend());
  ASSAY_ASSIGN(Cublas blas, Cublas::Load(cuda::ContextOf(*device).stream()));
  return std::make_unique<CublasBackend>(options, std::move(device), std::move(blas), pool);
}

}  // namespace assay::cublas
