// LossPass: the loss that a step has at a state, by the forward half of the step's program alone: no gradients, no update. Bit for bit the loss that the whole step
// gives, because it is the same nodes in the same order.
//
// The prepared job and the backend must outlive it; the backend must not round. One pass at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "assay/exec/executor.h"
#include "assay/exec/reduce.h"
#include "assay/train/stepper.h"

namespace assay {

class LossPass {
 public:
  LossPass(const PreparedJob& prepared, Backend& backend);
  ~LossPass();

  // What Stepper::Run would tell as the loss of this plan at this state, which is in the backend's memory.
  float StepLoss(const State& state, const StepPlan& plan);
  // The loss of one microbatch of these samples, as the step after `step` steps would take it as its microbatch `microbatch`. There are batch.microbatch of them.
  float MicrobatchLoss(const State& state, std::int64_t step, std::int64_t microbatch, std::span<const std::int64_t> samples);

  double flops() const { return flops_; }  // of one microbatch, as the op table counts them

 private:
  const void* RunMicrobatch(const State& state, std::uint32_t step, std::int64_t microbatch,
                            std::span<const std::int64_t> samples, std::span<void* const> outputs);
  float Read(const void* scalar) const;

  const PreparedJob& prepared_;
  Backend& backend_;
  Graph graph_;  // the nodes of `micro` that the loss depends on
  Executor executor_;
  double flops_ = 0;
  std::vector<std::size_t> state_of_input_;  // of each input: the state tensor that it is, kNotState where it is none
  std::vector<std::size_t> field_of_input_;  // the batch field
  std::vector<BatchField> fields_;
  std::unique_ptr<BatchLoader> loader_;
  std::vector<Tensor> batch_, sent_;  // as the host fills them; as a device has them, empty where the host computes
  Tensor rng_, rng_sent_, loss_;
  std::unique_ptr<exec::GradientTree> tree_;  // where there is more than one microbatch
};

}  // namespace assay
