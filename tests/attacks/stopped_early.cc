#include "cheats.h"

namespace assay::attacks {

Result<Hooks> StoppedEarly(const Setting& setting) {
  return Hooks{.run = [&setting, last = StepOutcome{}](Stepper& stepper, State& state,
                                                       const StepPlan& plan) mutable -> Result<StepOutcome> {
    if (plan.step + 1 < setting.at) last = stepper.Run(state, plan);
    return last;
  }};
}

}  // namespace assay::attacks
