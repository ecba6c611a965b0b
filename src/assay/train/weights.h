// What is delivered: model.safetensors, the model's tensors of the last state.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "assay/run/snapshot.h"
#include "assay/train/prepare.h"

namespace assay {

// The model's tensors out of a whole state, in name order; `state` must outlive them.
std::vector<TensorRef> WeightsOf(const PreparedJob& prepared, std::span<const Tensor> state);

// Whether a file has tensors of the same names, types and shapes, and no others.
bool HasTensorsOf(const Safetensors& file, std::span<const TensorRef> weights);

// Of a file that has these tensors: the first thing in which it is not, byte for byte, what training writes for these tensors and this metadata.
struct WeightsDifference {
  std::string what;
  std::optional<std::int64_t> leaf{};  // of the tensor named
};
std::optional<WeightsDifference> CompareWeights(const Safetensors& file, std::span<const TensorRef> weights,
                                                const SnapshotInfo& info);

}  // namespace assay
