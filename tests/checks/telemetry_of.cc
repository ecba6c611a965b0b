#include "telemetry_of.h"

#include <bit>

#include "assay/monitor/chain.h"
#include "assay/monitor/speed.h"
#include "assay/run/log.h"

namespace assay::checks {
namespace {

constexpr std::int64_t kStepUs = 500'000;
constexpr std::int64_t kBusyWatts = 300, kIdleWatts = 25;

// One record after the other, chained and sealed.
class Chain {
 public:
  Chain(const RunDirectory& run, const SigningKey& key)
      : key_(key), hash_(monitor::ChainStart(run.identity().trajectory, run.signer())) {
    out_.Raw(AsBytes(monitor::kTelemetryHead));
  }

  void Add(std::int64_t mono_us, decltype(monitor::Record::body) body) {
    monitor::Record record{
        .index = index_++, .mono_us = mono_us, .wall_us = 1'700'000'000'000'000 + mono_us, .body = std::move(body)};
    if (auto* seal = std::get_if<monitor::SealRecord>(&record.body))
      seal->signature = key_.Sign(monitor::SealedMessage(hash_, record));
    const Bytes payload = Encode(record);
    hash_ = monitor::ChainHash(hash_, payload);
    out_.Raw(monitor::FramedRecord(payload, hash_));
  }
  Bytes Take() { return out_.Take(); }

 private:
  const SigningKey& key_;
  ByteWriter out_;
  Digest hash_;
  std::uint64_t index_ = 0;
};

monitor::SampleRecord SampleAt(std::int64_t step, std::int64_t state_bytes, Machine machine) {
  const bool busy = machine == Machine::kBusy;
  const std::int64_t watts = busy ? kBusyWatts : kIdleWatts;
  // Busy: high, with a dip in every fifth sample. Idle: one or two percent.
  const std::int64_t utilisation = busy ? (step % 5 == 0 ? 60 : 97) : 1 + step % 2;
  return {.step = step,
          .cpu_us = step * kStepUs / 4,
          .resident = 50'000'000,
          .gpu = monitor::GpuFigures{.utilisation = utilisation,
                                     .memory = step == 0 ? 1'000'000 : 100'000'000 + 4 * state_bytes,
                                     .power_mw = watts * 1000,
                                     .energy_mj = watts * step * kStepUs / 1000,
                                     .temperature = 50,
                                     .clock_mhz = 1500}};
}

}  // namespace

Status WriteTelemetryOf(const RunDirectory& run, const PreparedJob& prepared, const SigningKey& key, Machine machine,
                        const std::map<std::int64_t, float>& losses) {
  ASSAY_ASSIGN(const RunLog log, RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory));
  const double flops = monitor::StepFlops(prepared.program);
  const std::int64_t state_bytes = monitor::StateBytes(prepared.program);
  const std::int64_t batch = prepared.job.batch.microbatch * prepared.job.batch.microbatches;
  const std::int64_t samples = prepared.data.train->samples();
  // A machine that takes most of kStepUs for a step.
  const double speed = flops / (static_cast<double>(kStepUs) * 0.9e-6);
  Chain chain(run, key);
  chain.Add(0, monitor::SessionRecord{.job = run.identity().job,
                                      .trajectory = run.identity().trajectory,
                                      .signer = run.signer().ToString(),
                                      .first_step = 0,
                                      .steps = prepared.job.steps,
                                      .epoch_samples = samples,
                                      .step_samples = batch,
                                      .step_flops = flops,
                                      .state_bytes = state_bytes,
                                      .interval_ms = 500,
                                      .device = "cuda",
                                      .processor = "example",
                                      .kernels = "example",
                                      .gpu = "example",
                                      .threads = 1,
                                      .cores = 1,
                                      .flops_per_s = speed,
                                      .flops_per_cpu_s = speed});
  chain.Add(0, SampleAt(0, state_bytes, machine));
  std::map<std::int64_t, std::uint32_t> told;
  for (const auto& [step, loss] : losses) told[step] = std::bit_cast<std::uint32_t>(loss);
  for (const LogEntry& entry : log.entries()) told[entry.step] = entry.loss_bits;
  told.erase(0);
  for (const auto& [step, loss_bits] : told) {
    const monitor::Iteration at = monitor::IterationOf(step - 1, batch, samples);
    chain.Add(step * kStepUs, monitor::StepRecord{at.epoch, at.iteration, step, loss_bits});
    chain.Add(step * kStepUs, SampleAt(step, state_bytes, machine));
  }
  const std::int64_t last = log.entries().back().step;
  chain.Add(
      last * kStepUs,
      monitor::SealRecord{
          .step = last, .job = run.identity().job, .log_size = log.entries().size(), .log_root = log.root(), .final = true});
  return WriteFileAtomic(run.telemetry_path(), chain.Take());
}

}  // namespace assay::checks
