// Integrity rules: what telemetry must look like if the run trained as it says (docs/CHECKS.md has the formulas, and what they do not see). Pure functions.
//
// `seed` are the published rules, literally; each has a hole. `strict` are ours: they hold the telemetry against what the run signed, and against the work that
// the job takes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/monitor/telemetry.h"

namespace assay::monitor {

enum class RuleState : std::uint8_t {
  kAccepted,
  kRefused,
  kUnchecked,      // cannot be told from what there is
  kNotApplicable,  // says nothing about a run like this one
  kDamaged,        // the copy is, and it speaks against nobody
};

// How a figure is meant beside its threshold: so many of so many, no less, no more.
enum class Bound { kOf, kAtLeast, kAtMost };

struct RuleResult {
  std::string rule;
  std::string verdict;  // "accepted", "refused", or a name for a special case
  RuleState state = RuleState::kUnchecked;
  std::optional<double> figure{}, threshold{};
  std::string reason{};
  Bound bound = Bound::kOf;
};

// What the rules are held against: what the run committed to, and what its job takes.
struct CommittedStep {
  std::int64_t step = 0;
  Digest state_root{};
  std::uint32_t loss_bits = 0;
};
struct RunFacts {
  Digest job{};
  std::int64_t steps = 0;
  bool exact = true;      // two honest runs of it never differ in a bit
  bool finished = false;  // there is a receipt
  double step_flops = 0;
  std::int64_t state_bytes = 0;
  std::vector<CommittedStep> committed{};       // the starting state first
  std::map<std::uint64_t, Digest> log_roots{};  // of the first so many entries, for every seal of this job
  std::uint64_t log_size = 0;
  // Entries that a log has once so many of the job's steps are done, 0 up to all of them.
  std::function<std::uint64_t(std::int64_t step)> entries_after{};
  // Whether a learning rate other than 0 applies in one of the steps after `from` up to `to`.
  std::function<bool(std::int64_t from, std::int64_t to)> learns{};
};

std::vector<RuleResult> SeedRules(const Telemetry& telemetry, const RunFacts& facts);
std::vector<RuleResult> StrictRules(const Telemetry& telemetry, const RunFacts& facts);

namespace seed {
inline constexpr double kAlpha = 0.4;  // share of utilisation samples above their mean
inline constexpr double kHead = 0.2;   // the first samples, in which memory rises
inline constexpr double kSteep = 0.5;  // of the whole rise, that much happens there
inline constexpr double kFlat = 0.1;   // of the largest use, the samples after the rise differ by at most that much
}  // namespace seed

namespace strict {
inline constexpr double kMostSpeed = 4;     // times the speed that was measured
inline constexpr double kLeastWork = 0.25;  // of the processor time that the counted work takes at the measured speed
inline constexpr double kMostFlopsPerJoule = 5e11;
inline constexpr double kLeastSeconds = 2;      // of a GPU's figures, which the driver averages
inline constexpr double kFrozenLoss = 0x1p-10;  // below it gradients may vanish honestly
}  // namespace strict

}  // namespace assay::monitor
