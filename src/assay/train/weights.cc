#include "assay/train/weights.h"

#include <algorithm>

#include "assay/model/import.h"

namespace assay {

std::vector<TensorRef> WeightsOf(const PreparedJob& prepared, std::span<const Tensor> state) {
  std::vector<TensorRef> weights;
  std::size_t at = 0;
  for (const StateSpec& spec : ModelState(prepared.job.model)) {
    // Both lists are in name order, and the model's tensors are among the state's.
    while (prepared.program.state[at].name != spec.name) ++at;
    weights.push_back({prepared.program.state[at].name, &state[at]});
  }
  return weights;
}

bool HasTensorsOf(const Safetensors& file, std::span<const TensorRef> weights) {
  return std::ranges::equal(file.tensors(), weights, [](const StoredTensor& stored, const TensorRef& weight) {
    return stored.name == weight.name && stored.Is(weight.tensor->type());
  });
}

std::optional<WeightsDifference> CompareWeights(const Safetensors& file, std::span<const TensorRef> weights,
                                                const SnapshotInfo& info) {
  for (const TensorRef& weight : weights) {
    const StoredTensor* stored = file.Find(weight.name);
    const ByteSpan truth = weight.tensor->bytes();
    const auto [mine, theirs] = std::ranges::mismatch(truth, stored->data);
    if (mine != truth.end()) {
      return WeightsDifference{fmt::format("{} is not what the training ended with", weight.name),
                               static_cast<std::int64_t>(static_cast<std::size_t>(mine - truth.begin()) / kLeafBytes)};
    }
  }
  if (file.metadata() != ToMetadata(info)) return WeightsDifference{"its metadata is not that of the run"};
  if (!file.IsCanonical()) return WeightsDifference{"its header is not what training writes"};
  return std::nullopt;
}

}  // namespace assay
