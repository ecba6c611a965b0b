#include "cheats.h"

namespace assay::attacks {
namespace {

Hooks FrontToBack(const Setting& setting) {
  return Hooks{.plan = [&setting](StepPlan& plan) {
    if (plan.step + 1 < setting.at) return;
    std::int64_t next = std::int64_t{plan.step} * static_cast<std::int64_t>(plan.indices.size());
    for (std::int64_t& index : plan.indices) index = next++ % setting.prepared.data.train->samples();
  }};
}

}  // namespace

Result<Hooks> OtherOrder(const Setting& setting) { return FrontToBack(setting); }

Result<Hooks> AdmittedOrder(const Setting& setting) {
  Hooks hooks = FrontToBack(setting);
  hooks.admits_batches = true;
  return hooks;
}

}  // namespace assay::attacks
