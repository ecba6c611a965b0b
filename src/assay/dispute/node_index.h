// NodeIndex: facts about the nodes of a step that are asked for as often as evidence has statements and trials: computed once for a program, then looked up.
// A node may have thousands of inputs and a program a hundred thousand nodes, so that whoever writes evidence would otherwise choose how long its judge takes.
// Immutable; thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "assay/exec/step_nodes.h"
#include "assay/graph/program.h"

namespace assay::dispute {

class NodeIndex {
 public:
  // Both must outlive it.
  NodeIndex(const Program& program, const StepNodes& nodes);

  // The bytes of the node's record in a trace.
  std::size_t RecordBytes(std::size_t node) const;
  // None where the node has fewer inputs or outputs.
  std::optional<TensorType> InputType(std::size_t node, std::size_t index) const;
  std::optional<TensorType> OutputType(std::size_t node, std::size_t index) const;
  // How many elements with a bound a step rounds before this node; for the number of all nodes: in the whole step. Micro nodes and update nodes run in the
  // order of their numbers; the additions between them are exact.
  std::uint64_t BoundedBefore(std::size_t node) const;

 private:
  struct OfGraph {
    explicit OfGraph(const Graph& graph);
    const Graph& graph;
    std::vector<std::uint32_t> record_bytes;
    std::vector<std::uint64_t> bounded_before;  // one more than nodes: the last is that of all
  };
  struct Place {
    const OfGraph* of;
    std::size_t node;
  };
  // None for the additions and scalings of microbatches.
  std::optional<Place> Find(std::size_t node) const;

  const StepNodes& nodes_;
  OfGraph micro_, update_;
};

}  // namespace assay::dispute
