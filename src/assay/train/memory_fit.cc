#include "assay/train/memory_fit.h"

#include "assay/backend/host.h"
#include "assay/base/allowance.h"
#include "assay/base/check.h"
#include "assay/exec/step.h"
#include "assay/monitor/usage.h"

namespace assay {
namespace {

std::string AmountOf(std::size_t bytes) { return Amount(static_cast<std::int64_t>(bytes)); }

std::size_t StateBytes(const Program& program) {
  std::size_t bytes = 0;
  for (const StateSpec& spec : program.state) bytes += spec.type.bytes();
  return bytes;
}

// Is planned for; nothing is run on it.
class InPlace final : public HostBackend {
 public:
  using HostBackend::HostBackend;
  std::string_view name() const override { return "in place"; }
  void Run(const KernelArgs&) override { CheckFailed("nothing runs", __FILE__, __LINE__); }
  void RunElements(const KernelArgs&, std::int64_t, std::int64_t) override { CheckFailed("nothing runs", __FILE__, __LINE__); }
  bool in_place() const override { return true; }
};

}  // namespace

std::size_t TrainingBytesOnHost(const PreparedJob& prepared) {
  ThreadPool pool(1);
  InPlace backend(pool);
  const bool fuse = prepared.job.precision != Precision::kFp64Rounded;
  return StateBytes(prepared.program) + StepRunner(prepared.program, backend, fuse).memory_bytes();
}

std::size_t TrainingBytes(const Program& program, Backend& backend) {
  return StateBytes(program) + StepRunner(program, backend).memory_bytes();
}

std::string WhatWouldFit(const Job& job, Backend& backend, std::size_t bytes) {
  const std::int64_t samples = job.batch.microbatch * job.batch.microbatches;
  for (std::int64_t microbatch = job.batch.microbatch - 1; microbatch > 0; --microbatch) {
    if (samples % microbatch != 0) continue;
    BatchConfig batch = job.batch;
    batch.microbatch = microbatch;
    batch.microbatches = samples / microbatch;
    const std::size_t needed = TrainingBytes(BuildProgram(job.model, job.optimizer, batch, DigitsOf(job.precision)), backend);
    if (needed > bytes) continue;
    return fmt::format(
        "with [batch] microbatch = {}, microbatches = {} it takes {} (another job, with other bits: train it into another "
        "directory)",
        microbatch, batch.microbatches, AmountOf(needed));
  }
  return backend.free_bytes() ? "no smaller microbatch would fit either; --device cpu gives the same bytes"
                              : "no smaller microbatch would fit either";
}

Status CheckFits(const PreparedJob& prepared, Backend& backend) {
  const auto on_device = backend.free_bytes();
  // What is swapped out is slow, but not refused.
  const std::size_t free =
      on_device ? *on_device
                : static_cast<std::size_t>(monitor::AvailableMemory()) + static_cast<std::size_t>(monitor::FreeSwap());
  const std::size_t needed = TrainingBytes(prepared.program, backend);
  if (needed <= free) return {};
  return Err("{}: this job takes {}, {} are free; {}", on_device ? "GPU memory" : "memory", AmountOf(needed), AmountOf(free),
             WhatWouldFit(prepared.job, backend, free));
}

}  // namespace assay
