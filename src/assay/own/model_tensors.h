// The model's own tensors out of a whole state, for those who have a job's and a program's encodings from anybody and no data to prepare the job with. Pure.
#pragma once

#include <span>
#include <vector>

#include "assay/base/result.h"
#include "assay/graph/program.h"
#include "assay/model/model.h"
#include "assay/tensor/safetensors.h"

namespace assay::own {

// In name order; `program` and `state`, which is parallel to the program's, must outlive them. An error: it is the program of another model.
Result<std::vector<TensorRef>> ModelTensors(const ModelConfig& model, const Program& program, std::span<const Tensor> state);

}  // namespace assay::own
