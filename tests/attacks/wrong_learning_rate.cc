#include "cheats.h"

namespace assay::attacks {

Result<Hooks> WrongLearningRate(const Setting& setting) {
  return Hooks{.plan = [&setting](StepPlan& plan) {
    if (plan.step + 1 >= setting.at) plan.lr *= 10;
  }};
}

}  // namespace assay::attacks
