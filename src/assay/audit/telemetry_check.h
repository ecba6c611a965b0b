// Holds the rules of monitor/ against a run's telemetry, its log and its job, without its data and without running a step (docs/CHECKS.md). Also while it trains:
// what is said then is said of what there is so far.
//
// Nothing is written. Not synchronised.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/audit/checked_run.h"
#include "assay/base/result.h"
#include "assay/monitor/rules.h"

namespace assay {

struct TelemetryReport {
  RunStage stage = RunStage::kUnfinished;
  monitor::RuleState state =
      monitor::RuleState::kUnchecked;  // of all of it: damaged, refused, unchecked or accepted, the first that a rule is
  std::vector<monitor::RuleResult> rules{};
  std::string reason{};              // where there are no rules: why
  std::int64_t step = 0, steps = 0;  // recorded, and of the job
  std::uint64_t samples = 0;
};

// An error: not a run, or it cannot be read here.
Result<TelemetryReport> CheckTelemetry(const std::string& path, RuleSet rules);

}  // namespace assay
