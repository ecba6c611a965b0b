// What the checks of a run (docs/CHECKS.md) have in common: which rules, how far the run is, and its log and receipt as far as they are signed for, also while it trains.
//
// Nothing is written. Thread safe.
#pragma once

#include <cstdint>
#include <string_view>

#include "assay/base/result.h"
#include "assay/monitor/rules.h"
#include "assay/run/directory.h"
#include "assay/run/log.h"

namespace assay {

enum class RuleSet : std::uint8_t { kSeed, kStrict };

enum class RunStage : std::uint8_t {
  kFinished,
  kGoingOn,     // a process trains in it
  kUnfinished,  // and none does
};
std::string_view Name(RunStage stage);            // "going on"
std::string_view Name(monitor::RuleState state);  // "accepted"

// Damaged, refused, unchecked or accepted: the first that one of them is.
monitor::RuleState Worst(const std::vector<monitor::RuleResult>& rules);

// Asked before anything is read: what is read afterwards is of this stage or a later one.
Result<RunStage> StageOf(const RunDirectory& run);
// Empty where there is none yet.
Result<RunLog> ReadRunLog(const RunDirectory& run, bool going_on);
// The receipt of a finished run is for the log that is there.
Status CheckReceiptFits(const RunDirectory& run, const RunLog& log);

}  // namespace assay
