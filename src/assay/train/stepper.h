// Stepper: the step function of a job. What a step does is a plan (which samples, which learning rate, which seed) that follows from
// the job; running it changes the state and tells the loss and the batch root. Training, replay and traces all run steps here.
//
// The prepared job and the backend must outlive it. One step at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/data/batch_root.h"
#include "assay/exec/step.h"
#include "assay/rounding/rounder.h"
#include "assay/train/batch.h"
#include "assay/train/prepare.h"

namespace assay {

struct StepPlan {
  std::uint32_t step = 0;  // steps done before it
  std::uint64_t seed = 0;
  float lr = 0;
  std::vector<std::int64_t> indices;  // the samples, microbatch by microbatch
};

// What became of the close calls of a step (docs/ROUNDING.md).
struct StepRounding {
  rounding::StepReport report;
  std::vector<std::size_t> nodes{};                // of each result that has bounds
  std::optional<std::size_t> inadmissible_node{};  // where report.inadmissible is, if it is about a result
};

struct StepOutcome {
  float loss = 0;
  std::vector<StepMetric> metrics;
  Digest batch_root{};
  std::optional<StepRounding> rounding{};  // on a backend that rounds
};

// Sees what a step reads and what its nodes make, while it runs.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void Begin(const StepPlan& plan, const State& before) = 0;  // the state in the backend's memory
  virtual void Batch(std::int64_t microbatch, std::span<const Tensor> fields) = 0;
  virtual void Node(std::size_t node, std::span<const void* const> outputs) = 0;  // in the backend's memory
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
  // From here on every step runs op by op and `observer` sees it, after the sink where there is one; null: no longer.
  void Observe(StepObserver* observer) { observer_ = observer; }
  // On a backend that rounds, a step writes its decisions down, unless it is told otherwise: to take none down, for all steps from here on, or, for the next one, to
  // follow a log.
  void IgnoreRoundings() { ignore_roundings_ = true; }
  Status FollowRoundings(ByteSpan log, std::string_view what, rounding::Scrutiny scrutiny = rounding::Scrutiny::kFollow);
  // A log that may be false: see Rounder::BeginAmend.
  Status AmendRoundings(ByteSpan log, std::string_view what);
  bool follows_next() const { return following_; }  // whether the next step follows a log
  // The batch root of a plan, without running it.
  Digest BatchRootOf(const StepPlan& plan);
  // Its batch: all microbatches one after the other along the first axis, parallel to batch_fields().
  std::vector<Tensor> BatchOf(const StepPlan& plan);
  std::span<const BatchField> batch_fields() const { return runner_.batch_fields(); }

  std::size_t nodes() const { return runner_.nodes(); }
  const PreparedJob& prepared() const { return prepared_; }
  Backend& backend() const { return backend_; }

 private:
  StepOutcome RunWith(State& state, const StepPlan& plan, const TraceSink* sink);
  StepOutcome RunRounded(State& state, const StepInput& input, const TraceSink* sink);
  StepOutcome Outcome(StepResult result);  // of the step that has just run
  void LoadFields(const StepPlan& plan, std::int64_t microbatch, std::span<Tensor> fields);
  void Load(const StepPlan& plan, std::int64_t microbatch, std::span<Tensor> fields);  // and into the batch root

  const PreparedJob& prepared_;
  Backend& backend_;
  StepRunner runner_;
  BatchLoader loader_;
  BatchRootBuilder root_;
  StepObserver* observer_ = nullptr;
  bool ignore_roundings_ = false;
  bool following_ = false;  // the next step
};

}  // namespace assay
