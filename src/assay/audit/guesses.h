// Guesses: what trainers are known to do instead of their job's step. Each is a step that can be run; when it gives the state that was claimed, it is what
// was done.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "assay/train/stepper.h"

namespace assay {

struct Guess {
  std::string words;  // what the step did: "used lr 0.003, the job says 0.001"
  StepPlan plan;
  std::function<void(State& after)> edit{};  // what was done to the state after the step
};

// For the step after `step` steps. `before`, `right` and `claimed` are the states before it, after it, and as claimed; the last may be empty, when
// only its root is known.
std::vector<Guess> GuessesFor(const Stepper& stepper, std::int64_t step, std::span<const Tensor> before,
                              std::span<const Tensor> right, std::span<const Tensor> claimed);

}  // namespace assay
