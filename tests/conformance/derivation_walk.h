// Walks through derivations as a referee would. Each check returns an empty string, or what is wrong.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/semantics/ref/derivation.h"
#include "assay/tensor/tensor.h"
#include "support/random_graph.h"

namespace assay::testkit {

// What a walk has met.
struct DerivationCounts {
  std::int64_t values = 0;
  std::size_t levels = 0;  // the longest path
  std::uint32_t parts = 0;
  std::size_t leaves = 0;
};

// Elements of every output, first, last and some in between: their derivations must end in the reference's bits, each value from the leaves that it
// names alone, everything else being poison.
std::string CheckDerivations(const OpInstance& op, std::span<const Tensor> inputs, Choices& choose, DerivationCounts& counts);

// No data: paths into derivations of such elements, with settled values of any bits, keep the limits and name elements that exist.
std::string CheckDerivationLimits(const OpInstance& op, Choices& choose, DerivationCounts& counts);

// A value as an ill-meaning party may send it.
ref::Value HostileValue(Choices& choose);

}  // namespace assay::testkit
