// The parts of a value in the derivation of an element, as a party who has the node's inputs tells them. Pure.
#pragma once

#include <span>
#include <vector>

#include "assay/dispute/question.h"

namespace assay::dispute {

// The question's step and node are those of `op` and `inputs`, its output and element exist. An error: the element has no such value.
// `in` point at element 0 of each input.
Result<std::vector<ref::Value>> PartsAt(const OpInstance& op, const PartsQuestion& question, std::span<const void* const> in);

// The same of a rounded job, whose parties agree on what an element is made of: on words, or on partial sums of squares.
Result<std::vector<ref::Value>> RoundedPartsAt(const OpInstance& op, const PartsQuestion& question,
                                               std::span<const void* const> in);

}  // namespace assay::dispute
