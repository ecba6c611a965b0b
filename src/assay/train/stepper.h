// Stepper: the step function of a job. What a step does is a plan (which samples, which learning rate, which seed) that follows from
// the job; running it changes the state and tells the loss and the batch root. Training, replay and traces all run steps here.
//
// The prepared job and the backend must outlive it. One step at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/backend/kernel.h"
#include "assay/data/batch_root.h"
#include "assay/exec/step.h"
#include "assay/train/batch.h"
#include "assay/train/prepare.h"

namespace assay {

struct StepPlan {
  std::uint32_t step = 0;  // steps done before it
  std::uint64_t seed = 0;
  float lr = 0;
  std::vector<std::int64_t> indices;  // the samples, microbatch by microbatch
};

struct StepOutcome {
  float loss = 0;
  std::vector<StepMetric> metrics;
  Digest batch_root{};
};

class Stepper {
 public:
  Stepper(const PreparedJob& prepared, Backend& backend);

  // What the job says about the step that follows `step` steps.
  StepPlan Plan(std::int64_t step) const;
  // The state is in the backend's memory.
  StepOutcome Run(State& state, const StepPlan& plan) { return RunWith(state, plan, nullptr); }
  // Op by op; `sink` sees every node's outputs.
  StepOutcome RunTraced(State& state, const StepPlan& plan, const TraceSink& sink) { return RunWith(state, plan, &sink); }
  // The batch root of a plan, without running it.
  Digest BatchRootOf(const StepPlan& plan);

  std::size_t nodes() const { return runner_.nodes(); }
  const PreparedJob& prepared() const { return prepared_; }
  Backend& backend() const { return backend_; }

 private:
  StepOutcome RunWith(State& state, const StepPlan& plan, const TraceSink* sink);
  void Load(const StepPlan& plan, std::int64_t microbatch, std::span<Tensor> fields);

  const PreparedJob& prepared_;
  Backend& backend_;
  StepRunner runner_;
  BatchLoader loader_;
  BatchRootBuilder root_;
};

}  // namespace assay
