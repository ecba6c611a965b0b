// StateDifference: how a claimed state differs from the right one, tensor by tensor. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/exec/step_nodes.h"
#include "assay/train/prepare.h"

namespace assay {

struct TensorDifference {
  std::size_t tensor = 0;  // of the state
  std::int64_t elements = 0;
  std::int64_t first = 0;  // element
  std::int64_t leaf = 0;   // of the tensor's root
  bool unchanged = false;  // the claimed tensor is what it was before the step
};

// Empty when they are equal. `before` may be empty: then nothing is called unchanged.
std::vector<TensorDifference> CompareStates(std::span<const Tensor> claimed, std::span<const Tensor> right,
                                            std::span<const Tensor> before);

// What the differences come to, in words: which tensors were left alone, that only optimizer state differs, or the first element.
std::string InWords(const std::vector<TensorDifference>& differences, const PreparedJob& prepared,
                    std::span<const Tensor> claimed, std::span<const Tensor> right);

// The difference whose tensor the step writes first, and the node that writes it.
struct WrittenDifference {
  TensorDifference difference;
  StepNodes::Output writer;
};
std::optional<WrittenDifference> FirstWritten(const std::vector<TensorDifference>& differences, const Program& program);

}  // namespace assay
