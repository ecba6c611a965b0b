// Conduct: how the steps of a run are really run. The honest one does what the job says; tests put liars in its place, so that their accounts are consistent
// with their lies.
#pragma once

#include <cstdint>

#include "assay/base/result.h"
#include "assay/train/stepper.h"

namespace assay::dispute {

class Conduct {
 public:
  virtual ~Conduct() = default;

  // The job over the data that steps are run on; null: its own.
  virtual const PreparedJob* used() const { return nullptr; }
  // Whether it commits to the batches of its plans from that data, not to the job's.
  virtual bool admits_batches() const { return false; }

  // Changes the starting state, in the host's memory.
  virtual Status Start(State&) { return {}; }
  // For the step after `step` steps.
  virtual StepPlan Plan(const Stepper& stepper, std::int64_t step) { return stepper.Plan(step); }
  // Runs that step, with `stepper` or not at all. Must give the same each time, observed or not. On a host's backend a sink that is handed to
  // Stepper::RunTraced may change a node's outputs in place: later nodes read, and an observer sees, what it left.
  virtual Result<StepOutcome> Step(Stepper& stepper, State& state, std::int64_t step) {
    return stepper.Run(state, Plan(stepper, step));
  }
};

}  // namespace assay::dispute
