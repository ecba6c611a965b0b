// Probabilistic validation of epochs: a share of a run's losses is computed again by forward passes alone, on what is drawn after the commitment (docs/CHECKS.md,
// "Epochs"). Much cheaper than an audit, and no audit: what happened between two snapshots is not run again.
//
// What is drawn follows from the signed receipt (of a run that goes on: the signed checkpoint of its log) and a nonce of the checker. The report depends on the run, the
// nonce and the share, not on this machine, but for the measured times. Nothing is written.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "assay/audit/checked_run.h"
#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"
#include "assay/monitor/pev_rules.h"
#include "assay/train/prepare.h"

namespace assay {

struct PevOptions {
  double percent = 10;  // of the samples of each epoch; above 0, at most 100
  RuleSet rules = RuleSet::kStrict;
  Bytes nonce{};
  bool measure = false;                 // runs a few whole steps, too, to compare their time with that of the forward passes
  std::function<bool()> should_stop{};  // asked between passes; may be empty
};

struct EpochRule {
  std::optional<std::int64_t> epoch{};  // none: of the run as a whole
  monitor::RuleResult result;
};

// What the forward passes took, against the training of the steps that were looked at.
struct PevCost {
  std::int64_t samples = 0;  // that went through a forward pass
  double flops = 0, training_flops = 0;
  double seconds = 0;  // of the forward passes, with the loading of their samples
  // Where it was measured: of a whole step, and of all forward passes if each took as long as the quickest. The quickest of either is what others on the machine disturb least.
  std::optional<double> step_seconds{}, forward_seconds{};
  std::int64_t steps = 0;  // of the training
};

struct PevReport {
  RunStage stage = RunStage::kUnfinished;
  monitor::RuleState state = monitor::RuleState::kUnchecked;
  std::vector<EpochRule> rules{};
  std::string reason{};                  // where there are no rules: why
  std::int64_t step = 0, steps = 0;      // committed, and of the job
  std::string losses_from{};             // "telemetry" or "log": who tells the losses of an epoch
  std::vector<std::int64_t> compared{};  // strict: steps whose loss was computed again bit for bit
  PevCost cost{};
};

// `prepared` is the run's own job. `steps` computes the job's steps; `forward` is a backend of the numeric contract, the same one where the job's precision is fp32. An error:
// cannot be told here.
Result<PevReport> CheckEpochs(const RunDirectory& run, const PreparedJob& prepared, const PevOptions& options, Backend& steps,
                              Backend& forward, ThreadPool& pool);

}  // namespace assay
