#include "assay/dispute/node_index.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/job/limits.h"

namespace assay::dispute {
namespace {

std::uint64_t BoundedElements(const OpInstance& op) {
  std::uint64_t elements = 0;
  if (!op.def->has_bound()) return elements;
  for (const TensorType& type : op.out) elements += type.dtype == DType::kF32 ? static_cast<std::uint64_t>(type.elements()) : 0;
  return elements;
}

std::optional<TensorType> At(const std::vector<TensorType>& types, std::size_t index) {
  return index < types.size() ? std::optional(types[index]) : std::nullopt;
}

}  // namespace

NodeIndex::OfGraph::OfGraph(const Graph& of) : graph(of) {
  std::uint64_t bounded = 0;
  for (const Node& node : graph.nodes()) {
    const OpInstance op = graph.Instance(node);
    record_bytes.push_back(static_cast<std::uint32_t>(assay::RecordBytes(op)));
    bounded_before.push_back(bounded);
    bounded += BoundedElements(op);
  }
  bounded_before.push_back(bounded);
}

NodeIndex::NodeIndex(const Program& program, const StepNodes& nodes)
    : nodes_(nodes), micro_(program.micro), update_(program.update) {}

std::optional<NodeIndex::Place> NodeIndex::Find(std::size_t node) const {
  ASSAY_CHECK(node < nodes_.size());
  if (node < nodes_.microbatches() * nodes_.micro_size()) return Place{&micro_, node % nodes_.micro_size()};
  if (node >= nodes_.update_begin()) return Place{&update_, node - nodes_.update_begin()};
  return std::nullopt;
}

std::size_t NodeIndex::RecordBytes(std::size_t node) const {
  const auto place = Find(node);
  return place ? place->of->record_bytes[place->node] : assay::RecordBytes(nodes_.Instance(node));
}

std::optional<TensorType> NodeIndex::InputType(std::size_t node, std::size_t index) const {
  const auto place = Find(node);
  if (!place) return At(nodes_.Instance(node).in, index);
  const Graph& graph = place->of->graph;
  const auto& inputs = graph.nodes()[place->node].inputs;
  return index < inputs.size() ? std::optional(graph.type(inputs[index])) : std::nullopt;
}

std::optional<TensorType> NodeIndex::OutputType(std::size_t node, std::size_t index) const {
  const auto place = Find(node);
  if (!place) return At(nodes_.Instance(node).out, index);
  const Graph& graph = place->of->graph;
  const Node& found = graph.nodes()[place->node];
  return index < found.outputs ? std::optional(graph.type(found.first_output + static_cast<ValueId>(index))) : std::nullopt;
}

std::uint64_t NodeIndex::BoundedBefore(std::size_t node) const {
  ASSAY_CHECK(node <= nodes_.size());
  const std::size_t micro = nodes_.micro_size(), whole = std::min(node / micro, nodes_.microbatches());
  std::uint64_t bounded = whole * micro_.bounded_before.back();
  if (whole < nodes_.microbatches()) bounded += micro_.bounded_before[node % micro];
  if (node >= nodes_.update_begin()) bounded += update_.bounded_before[node - nodes_.update_begin()];
  return bounded;
}

}  // namespace assay::dispute
