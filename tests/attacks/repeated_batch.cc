#include "cheats.h"

namespace assay::attacks {

Result<Hooks> RepeatedBatch(const Setting& setting) {
  return Hooks{.run = [&setting](Stepper& stepper, State& state, StepPlan plan) -> Result<StepOutcome> {
    const std::int64_t step = plan.step;
    // The first step has no batch before it: it takes the next one's.
    if (step + 1 == setting.at) plan.indices = stepper.Plan(step == 0 ? 1 : step - 1).indices;
    return stepper.Run(state, plan);
  }};
}

}  // namespace assay::attacks
