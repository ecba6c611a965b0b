#include "forger.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "assay/run/rounding_logs.h"
#include "tools.h"

namespace assay::roundtest {

Closeness ClosenessOf(const numerics::Grid& grid, double y, double e) {
  const float r = grid.Round(y);
  const float above = grid.Above(r), below = grid.Below(r);
  const double up = (double{r} + double{above}) / 2 - y;
  const double down = y - (double{r} + double{below}) / 2;
  const bool is_up = up < down;
  return {.distance = std::min(up, down) / rounding::Reach(e), .other = is_up ? above : below, .up = is_up};
}

attacks::Hooks Forger::hooks() {
  attacks::Hooks hooks;
  hooks.run = [this](Stepper& stepper, State& state, const StepPlan& plan) { return Step(stepper, state, plan); };
  return hooks;
}

Status Forger::Train(const std::string& path, const SigningKey& key) {
  attacks::Lie lie;
  const attacks::Setting setting{
      .prepared = prepared_, .key = key, .backend = *machine_.backend, .pool = machine_.pool, .at = at_, .lie = lie};
  const attacks::Hooks made = hooks();
  ASSAY_TRY(attacks::RunHooks(made, setting, path));
  if (!place_) return Err("there was nothing to forge");
  return {};
}

Status Forger::Follow(Stepper& stepper, const StepPlan& plan) const {
  if (follow_ == nullptr) return {};
  ASSAY_ASSIGN(RoundingLogs logs, RoundingLogs::Open(follow_->rounding_path()));
  ASSAY_ASSIGN(const Bytes log, logs.Read(std::int64_t{plan.step} + 1));
  return stepper.FollowRoundings(log, "followed");
}

Result<StepOutcome> Forger::Step(Stepper& stepper, State& state, const StepPlan& plan) {
  if (std::int64_t{plan.step} + 1 != at_) {
    ASSAY_TRY(Follow(stepper, plan));
    return stepper.Run(state, plan);
  }
  if (!place_) {
    ASSAY_TRY(Follow(stepper, plan));
    place_ = Choose(stepper, state, plan);
    if (!place_) return Err("there is nothing to forge in step {}", at_);
  }
  ASSAY_TRY(Follow(stepper, plan));
  const numerics::Grid grid(static_cast<int>(prepared_.job.round_bits));
  const auto tamper = [&](std::size_t node, std::span<const void* const> outputs) {
    if (node != place_->node) return;
    const_cast<float*>(static_cast<const float*>(outputs[place_->output]))[place_->element] =
        forgery_.value(grid, place_->y, place_->e);
  };
  StepOutcome outcome = stepper.RunTraced(state, plan, tamper);
  if (follow_ == nullptr) {
    ASSAY_ASSIGN(outcome.rounding->report.log, Forged(outcome.rounding->report.log));
  }
  return outcome;
}

std::optional<Place> Forger::Choose(Stepper& stepper, const State& before, const StepPlan& plan) {
  struct Best {
    double score = std::numeric_limits<double>::infinity();
    Place place{};
  };
  const numerics::Grid grid(static_cast<int>(prepared_.job.round_bits));
  const StepNodes nodes(prepared_.program);
  State state = attacks::CopyOf(before);
  std::mutex mutex;
  std::map<std::size_t, Best> running;  // by output of the node that runs
  Best best;
  machine_.hooks.observe = [&](std::size_t output, std::int64_t at, std::span<const double> y, std::span<const double> e) {
    const std::lock_guard lock(mutex);
    Best& here = running[output];
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!std::isfinite(y[i]) || !(e[i] > 0) || !std::isfinite(e[i])) continue;
      const double score = forgery_.liking(grid, y[i], e[i]);
      if (!(score < here.score)) continue;
      here = {.score = score,
              .place = {.node = 0, .output = output, .element = at + static_cast<std::int64_t>(i), .y = y[i], .e = e[i]}};
    }
  };
  stepper.RunTraced(state, plan, [&](std::size_t node, std::span<const void* const>) {
    for (auto& [output, here] : running) {
      if (!(here.score < best.score) || (forgery_.among && !forgery_.among(nodes, node, output))) continue;
      best = here;
      best.place.node = node;
    }
    running.clear();
  });
  machine_.hooks.observe = nullptr;
  if (!std::isfinite(best.score)) return std::nullopt;
  return best.place;
}

// By the definition of docs/ROUNDING.md, section 5.
std::uint64_t Forger::PositionOf(const Place& place) const {
  const StepNodes nodes(prepared_.program);
  std::uint64_t position = 0;
  for (std::size_t n = 0; n <= place.node; ++n) {
    const OpInstance op = nodes.Instance(n);
    if (!op.def->has_bound()) continue;
    for (std::size_t k = 0; k < (n == place.node ? place.output : op.out.size()); ++k) {
      if (op.out[k].dtype == DType::kF32) position += static_cast<std::uint64_t>(op.out[k].elements());
    }
  }
  return position + static_cast<std::uint64_t>(place.element);
}

Result<Bytes> Forger::Forged(ByteSpan log) const {
  ASSAY_ASSIGN(rounding::DecisionLog decoded, rounding::DecodeDecisions(log, "own log"));
  const std::uint64_t position = PositionOf(*place_);
  std::erase_if(decoded.decisions, [&](const rounding::Decision& d) { return d.position == position; });
  const numerics::Grid grid(static_cast<int>(prepared_.job.round_bits));
  if (auto decision = forgery_.decision(grid, place_->y, place_->e)) {
    decision->position = position;
    decoded.decisions.push_back(*decision);
    std::ranges::sort(decoded.decisions, {}, &rounding::Decision::position);
  }
  return rounding::EncodeDecisions(decoded.decisions, decoded.elements);
}

}  // namespace assay::roundtest
