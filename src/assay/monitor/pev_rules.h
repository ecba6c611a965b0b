// Rules about the epochs of a run whose losses are computed again on samples drawn after the commitment (docs/CHECKS.md, "Epochs"). Pure functions.
//
// `SeedEpochRule` is the published rule, literally, with its holes. `StrictEpochRule` bounds the loss at the checkpoint by a confidence interval; that single losses are
// bit for bit those that were committed is the other half, which needs no statistics (`SameLossRule`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "assay/monitor/rules.h"

namespace assay::monitor {

// The steps of an epoch are those that begin in it; of a run that goes on, those that there are so far.
struct EpochFacts {
  std::int64_t epoch = 0;                      // counted from 0
  std::int64_t first_step = 0, last_step = 0;  // counted from 1
  std::vector<float> recorded{};               // losses of its steps, as the run told them
  std::optional<std::int64_t>
      checkpoint{};             // steps done at the snapshot that stands for the epoch's end; none: there is no such snapshot
  std::int64_t population = 0;  // samples that its steps took
  std::int64_t drawn = 0;       // of them
  std::vector<float> groups{};  // losses of the drawn samples at the checkpoint, microbatch by microbatch
  std::optional<float>
      highest{};  // of the losses recorded from the epoch's first step up to the checkpoint and its own last step
  std::optional<float> next_loss{};  // of the step after the checkpoint, which is a loss at the same weights
  std::int64_t microbatches = 1;     // in a step
};

// One loss of a step after a snapshot, computed again.
struct SameLoss {
  std::int64_t step = 0;
  std::uint32_t told = 0, computed = 0;  // bits
  bool committed = false;                // in an entry of the log; otherwise in the signed telemetry alone
};

struct ConfidenceInterval {
  double mean = 0, low = 0, high = 0;
};

inline constexpr double kConfidence = 0.999;
// The interval of two microbatches has Student's quantile 637, so that any mean would lie in it.
inline constexpr std::size_t kLeastGroups = 3;

// Of the mean over `population` samples of which `drawn` were looked at, in groups of equal size; at least two groups.
ConfidenceInterval FinitePopulationInterval(const std::vector<float>& groups, std::int64_t drawn, std::int64_t population);

// |mean of the recorded losses - mean of the drawn samples' at the checkpoint| < deviation of the recorded losses * 100 / percent.
RuleResult SeedEpochRule(const EpochFacts& epoch, double percent);

// The checkpoint does no worse than the epoch's record says: the interval's lower end is not above every loss that was recorded on the way to it.
RuleResult StrictEpochRule(const EpochFacts& epoch);

// `openings`: how many steps of the epoch follow a state that is at hand; `told`: of how many of these the run told the loss.
RuleResult SameLossRule(const std::vector<SameLoss>& compared, std::int64_t openings, std::int64_t told);

}  // namespace assay::monitor
