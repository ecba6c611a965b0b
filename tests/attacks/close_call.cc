// A trainer that is free where the bound leaves a value open, and uses that to be unlike every honest run before it lies.
#include <algorithm>
#include <cmath>
#include <memory>

#include "assay/rounding/decision_log.h"
#include "cheats.h"
#include "tools.h"

namespace assay::attacks {
namespace {

constexpr std::size_t kMaxTries = 64;
// Of D. Half of it is how far a correct evaluation can be from the truth; nearer than that, everybody agrees that the value is open.
constexpr double kClose = 0.3;

// How far the one value that was taken otherwise is from its boundary, in units of its D.
double DistanceOf(const rounding::Correction& correction, const numerics::Grid& grid) {
  const float r = grid.Round(correction.y);
  const double up = (double{r} + double{grid.Above(r)}) / 2 - correction.y;
  const double down = correction.y - (double{r} + double{grid.Below(r)}) / 2;
  return std::min(up, down) / correction.reach;
}

// Runs a step with one close call taken the other way, so that another state comes of it; none if this step has no such call. The log says so, and is in
// everything else that of an honest trainer.
Result<std::optional<StepOutcome>> Flip(const Setting& setting, Stepper& stepper, State& state, const StepPlan& plan) {
  const auto root = [&] { return StateRootOf(setting.prepared.program.state, state, setting.pool); };
  const numerics::Grid grid(static_cast<int>(setting.prepared.job.round_bits));
  const State before = CopyOf(state);
  const StepOutcome honest = stepper.Run(state, plan);
  const Digest after = root();
  ASSAY_ASSIGN(const rounding::DecisionLog log, rounding::DecodeDecisions(honest.rounding->report.log, "own log"));
  std::size_t tries = 0;
  for (rounding::Decision decision : log.decisions) {
    if (decision.wide) continue;
    if (++tries > kMaxTries) break;
    decision.up = !decision.up;
    state = CopyOf(before);
    ASSAY_TRY(stepper.AmendRoundings(rounding::EncodeDecisions(std::vector{decision}, log.elements), "flipped"));
    StepOutcome outcome = stepper.Run(state, plan);
    rounding::StepReport& report = outcome.rounding->report;
    if (report.corrected.size() != 1 || !report.own) continue;
    ASSAY_ASSIGN(const rounding::DecisionLog own, rounding::DecodeDecisions(*report.own, "amended log"));
    const bool taken = std::ranges::find(own.decisions, decision) != own.decisions.end();
    if (!taken || DistanceOf(report.corrected.front(), grid) > kClose || root() == after) continue;
    report.log = *report.own;
    report.inadmissible.reset();  // that it leaves out all others
    return outcome;
  }
  state = CopyOf(before);
  return std::nullopt;
}

}  // namespace

// Before the step at which others begin to cheat.
Result<Hooks> OnlyCloseCall(const Setting& setting) {
  if (setting.prepared.job.precision != Precision::kFp64Rounded || setting.prepared.job.round_rule == RoundRule::kPaper) {
    return Err("expected an fp64-rounded job with bounds");
  }
  const auto flipped = std::make_shared<bool>(false);
  Hooks hooks;
  hooks.run = [&setting, flipped](Stepper& stepper, State& state, const StepPlan& plan) -> Result<StepOutcome> {
    // Who answers for the run later follows its log, which has the flip.
    if (*flipped || stepper.follows_next()) return stepper.Run(state, plan);
    if (plan.step + 1 >= setting.at) return Err("no close call before step {} changes the state", setting.at);
    ASSAY_ASSIGN(const auto outcome, Flip(setting, stepper, state, plan));
    *flipped = outcome.has_value();
    return outcome ? *outcome : stepper.Run(state, plan);
  };
  return hooks;
}

Result<Hooks> CloseCall(const Setting& setting) {
  ASSAY_ASSIGN(Hooks hooks, OnlyCloseCall(setting));
  ASSAY_ASSIGN(const Hooks lie, WrongLearningRate(setting));
  hooks.plan = lie.plan;
  return hooks;
}

}  // namespace assay::attacks
