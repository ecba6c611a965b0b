#include "attacks.h"

#include <algorithm>

#include "tools.h"

namespace assay::checks {
namespace {

using attacks::Hooks;
using attacks::Setting;

// Runs each step for its loss and throws the rest away.
Result<Hooks> FrozenModel(const Setting&) {
  return Hooks{.run = [](Stepper& stepper, State& state, const StepPlan& plan) -> Result<StepOutcome> {
    State scratch = attacks::CopyOf(state);
    return stepper.Run(scratch, plan);
  }};
}

// Updates so small that every replay ends near them.
Result<Hooks> InfinitesimalUpdates(const Setting&) {
  return Hooks{.plan = [](StepPlan& plan) { plan.lr *= 0x1p-10f; }};
}

// Trains in the first half of each epoch, where the changes are, and carries the state over in the second.
Result<Hooks> BlindfoldedTopQ(const Setting& setting) {
  const std::int64_t batch = setting.prepared.job.batch.microbatch * setting.prepared.job.batch.microbatches;
  const std::int64_t steps = std::max<std::int64_t>(2, setting.prepared.data.train->samples() / batch);
  return Hooks{.run = [steps](Stepper& stepper, State& state, const StepPlan& plan) -> Result<StepOutcome> {
    if (2 * (std::int64_t{plan.step} % steps) < steps) return stepper.Run(state, plan);
    State scratch = attacks::CopyOf(state);
    return stepper.Run(scratch, plan);
  }};
}

// Inputs moved a little, so that training on them leads where the attacker wants; the labels are the right ones.
Result<Hooks> AdversarialData(const Setting& setting) {
  const std::size_t labels = attacks::LabelField(*setting.prepared.data.train);
  const attacks::SampleEdit nudge = [labels](const attacks::Sample& sample) {
    const auto values = attacks::Row<float>(sample.batch[1 - labels], sample.row);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += i % 2 == 0 ? 0.05f : -0.05f;
  };
  return Hooks{.data = [&setting, nudge](std::unique_ptr<Dataset> honest) {
    return attacks::EditEveryFourth(setting, std::move(honest), nudge);
  }};
}

constexpr Attack kAttacks[] = {
    {"frozen-model", "computes every loss and never changes a weight", FrozenModel},
    {"infinitesimal-updates", "trains with a thousandth of the learning rate", InfinitesimalUpdates},
    {"blindfolded-top-q", "trains where the changes are largest, and carries the state over elsewhere", BlindfoldedTopQ},
    {"adversarial-data", "moves the inputs of every fourth sample a little", AdversarialData},
};

}  // namespace

std::span<const Attack> KnownAttacks() { return kAttacks; }

}  // namespace assay::checks
