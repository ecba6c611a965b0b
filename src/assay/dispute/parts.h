// The parts of a value in the derivation of an element, as a party who has the node's inputs tells them. Pure.
#pragma once

#include <span>
#include <vector>

#include "assay/dispute/question.h"
#include "assay/tensor/tensor.h"

namespace assay::dispute {

// The question's step and node are those of `op` and `inputs`, its output and element exist. An error: the element has no such value.
Result<std::vector<ref::Value>> PartsAt(const OpInstance& op, const PartsQuestion& question, std::span<const Tensor> inputs);

}  // namespace assay::dispute
