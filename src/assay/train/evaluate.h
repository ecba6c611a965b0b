// Evaluation: loss and accuracy of a state on samples spread evenly over a dataset, in whole microbatches.
//
// The figures depend on state and data alone: the forward pass is under the numeric contract and the averages are taken in a fixed order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/data/dataset.h"
#include "assay/graph/program.h"
#include "assay/job/job.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct Evaluation {
  float loss = 0;       // mean over the predictions
  double accuracy = 0;  // the share of predictions whose largest logit is the target
  std::int64_t predictions = 0;
};

// The samples that `batches` microbatches of `microbatch` take from `samples`: evenly spaced, ascending, without repeats while there are
// enough; a dataset smaller than one microbatch is gone through again.
std::vector<std::int64_t> EvaluationIndices(std::int64_t samples, std::int64_t microbatch, std::int64_t batches);

// `state` is parallel to `specs` and holds at least the model's tensors. 0 batches: the whole dataset.
Evaluation Evaluate(const Job& job, const Dataset& dataset, std::span<const StateSpec> specs, std::span<const Tensor> state,
                    std::int64_t batches, Backend& backend);

}  // namespace assay
