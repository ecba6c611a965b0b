// The naive meaning of a graph: every node in order, by the reference kernels, each value in memory of its own. What the executor does
// faster must give the same bytes.
#pragma once

#include <span>
#include <vector>

#include "assay/graph/graph.h"
#include "assay/tensor/tensor.h"

namespace assay::testkit {

// Every value of the graph, inputs included.
std::vector<Tensor> Interpret(const Graph& graph, std::span<const Tensor> inputs);

}  // namespace assay::testkit
