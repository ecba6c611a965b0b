#include "assay/train/memory_fit.h"

#include "assay/base/allowance.h"
#include "assay/exec/step.h"

namespace assay {
namespace {

std::string AmountOf(std::size_t bytes) { return Amount(static_cast<std::int64_t>(bytes)); }

std::size_t StateBytes(const Program& program) {
  std::size_t bytes = 0;
  for (const StateSpec& spec : program.state) bytes += spec.type.bytes();
  return bytes;
}

}  // namespace

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
  return "no smaller microbatch would fit either; --device cpu gives the same bytes";
}

Status CheckFits(const PreparedJob& prepared, Backend& backend) {
  const auto free = backend.free_bytes();
  if (!free) return {};
  const std::size_t needed = TrainingBytes(prepared.program, backend);
  if (needed <= *free) return {};
  return Err("GPU memory: this job takes {}, {} are free; {}", AmountOf(needed), AmountOf(*free),
             WhatWouldFit(prepared.job, backend, *free));
}

}  // namespace assay
