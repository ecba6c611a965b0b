#include "cheats.h"

namespace assay::attacks {

// Start, order and everything random of the next seed; the run names the job's.
Result<Hooks> OtherSeed(const Setting& setting) {
  const std::uint64_t seed = setting.prepared.job.seed + 1;
  Hooks hooks;
  hooks.start = [&setting, seed](State& state) -> Status {
    state = InitialState(setting.prepared.program, seed, &setting.pool);
    return {};
  };
  hooks.plan = [&setting, seed](StepPlan& plan) {
    plan.seed = seed;
    const auto count = static_cast<std::int64_t>(plan.indices.size());
    plan.indices = BatchIndices(seed, setting.prepared.data.train->samples(), plan.step, count);
  };
  return hooks;
}

}  // namespace assay::attacks
