// The weights that a job starts from: whether they fit, what identifies them, and the state that they make.
//
// init.weights names a file or a folder of them (assay/tensor/weight_files.h). Of one file the identity is its SHA-256, wherever it lies; of several it is made
// of theirs (docs/formats/job.md). Thread safe.
#pragma once

#include <span>
#include <string>

#include "assay/base/allowance.h"
#include "assay/base/result.h"
#include "assay/graph/program.h"
#include "assay/merkle/sha256.h"
#include "assay/model/model.h"
#include "assay/tensor/tensor.h"
#include "assay/tensor/weight_files.h"

namespace assay {

Result<Digest> IdentityOf(const WeightFiles& weights, Allowance& allowance);

// The identity of the weights at `path`, once it is known that they fit the model.
Result<Digest> CheckStartingWeights(const std::string& path, const ModelConfig& model, Allowance& allowance);

// Puts the weights at `path` over the model's tensors among `state`, which is parallel to `specs`.
Status LoadStartingWeights(const std::string& path, const ModelConfig& model, std::span<const StateSpec> specs,
                           std::span<Tensor> state);

}  // namespace assay
