#include "assay/exec/step_nodes.h"

#include "assay/base/check.h"

namespace assay {
namespace {

std::vector<TensorType> TypesOf(const Graph& graph, const Node& node) {
  std::vector<TensorType> types;
  for (std::uint32_t k = 0; k < node.outputs; ++k) types.push_back(graph.type(node.first_output + k));
  return types;
}

// The name of the graph output that this value is, or empty.
std::string_view OutputName(const Graph& graph, const Node& node) {
  for (const NamedValue& output : graph.outputs()) {
    if (output.value >= node.first_output && output.value < node.first_output + node.outputs) return output.name;
  }
  return {};
}

// The name of the first graph input that the node reads, or empty.
std::string_view InputName(const Graph& graph, const Node& node) {
  for (const ValueId value : node.inputs) {
    if (value < graph.inputs().size()) return graph.inputs()[value].name;
  }
  return {};
}

std::string_view WithoutState(std::string_view name) {
  constexpr std::string_view kPrefix = "state/";
  return name.starts_with(kPrefix) ? name.substr(kPrefix.size()) : name;
}

std::string DescribeIn(const Graph& graph, std::size_t index) {
  const Node& node = graph.nodes()[index];
  std::string text(graph.def(node).name);
  if (const std::string_view output = OutputName(graph, node); !output.empty()) {
    return fmt::format("{} of {}", text, WithoutState(output));
  }
  if (const std::string_view input = InputName(graph, node); !input.empty()) {
    return fmt::format("{} with {}", text, WithoutState(input));
  }
  return text;
}

}  // namespace

StepNodes::StepNodes(const Program& program)
    : program_(program), tree_base_(static_cast<std::size_t>(program.microbatches) * program.micro.nodes().size()) {
  const std::size_t tree =
      program.microbatches > 1 ? static_cast<std::size_t>(program.microbatches) * program.micro.outputs().size() : 0;
  update_base_ = tree_base_ + tree;
}

std::vector<TensorType> StepNodes::OutputTypes(std::size_t node) const {
  ASSAY_CHECK(node < size());
  const Graph& micro = program_.micro;
  if (node < tree_base_) return TypesOf(micro, micro.nodes()[node % micro.nodes().size()]);
  if (node < update_base_) return {micro.type(micro.outputs()[(node - tree_base_) % micro.outputs().size()].value)};
  return TypesOf(program_.update, program_.update.nodes()[node - update_base_]);
}

std::string StepNodes::Describe(std::size_t node) const {
  ASSAY_CHECK(node < size());
  const Graph& micro = program_.micro;
  if (node < tree_base_) {
    const std::string text = DescribeIn(micro, node % micro.nodes().size());
    if (program_.microbatches == 1) return text;
    return fmt::format("microbatch {}: {}", node / micro.nodes().size(), text);
  }
  if (node < update_base_) {
    const std::size_t outputs = micro.outputs().size(), at = node - tree_base_;
    const bool scaling = at >= static_cast<std::size_t>(program_.microbatches - 1) * outputs;
    return fmt::format("{} over microbatches of {}", scaling ? "mean" : "sum", micro.outputs()[at % outputs].name);
  }
  return fmt::format("update: {}", DescribeIn(program_.update, node - update_base_));
}

std::optional<StepNodes::Output> StepNodes::WriterOf(std::string_view state) const {
  const Graph& update = program_.update;
  const auto index = update.FindOutput(fmt::format("state/{}", state));
  if (!index) return std::nullopt;
  const ValueId value = update.outputs()[*index].value;
  for (std::size_t n = 0; n < update.nodes().size(); ++n) {
    const Node& node = update.nodes()[n];
    if (value >= node.first_output && value < node.first_output + node.outputs) {
      return Output{update_base_ + n, value - node.first_output};
    }
  }
  return std::nullopt;
}

}  // namespace assay
