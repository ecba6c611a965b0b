#include "assay/exec/step_nodes.h"

#include <algorithm>

#include "assay/base/check.h"
#include "assay/ops/table.h"

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

constexpr std::string_view kStatePrefix = "state/";
constexpr std::string_view kReducedPrefix = "reduced/";

std::string_view WithoutState(std::string_view name) {
  return name.starts_with(kStatePrefix) ? name.substr(kStatePrefix.size()) : name;
}

// The state tensor that an input "state/NAME" is; a verified program has it.
std::size_t StateIndex(const Program& program, std::string_view name) {
  const auto found = std::ranges::lower_bound(program.state, WithoutState(name), {}, &StateSpec::name);
  ASSAY_CHECK(found != program.state.end());
  return static_cast<std::size_t>(found - program.state.begin());
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
  micro_producers_ = ProducersOf(program.micro);
  update_producers_ = ProducersOf(program.update);
}

std::vector<StepNodes::Producer> StepNodes::ProducersOf(const Graph& graph) {
  std::vector<Producer> producers(graph.values());
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    for (std::uint32_t k = 0; k < node.outputs; ++k) producers[node.first_output + k] = {n, k};
  }
  return producers;
}

OpInstance StepNodes::Instance(std::size_t node) const {
  ASSAY_CHECK(node < size());
  const Graph& micro = program_.micro;
  if (node < tree_base_) return micro.Instance(micro.nodes()[node % micro.nodes().size()]);
  if (node >= update_base_) return program_.update.Instance(program_.update.nodes()[node - update_base_]);
  const std::size_t outputs = micro.outputs().size(), at = node - tree_base_;
  const TensorType type = micro.type(micro.outputs()[at % outputs].value);
  if (at < static_cast<std::size_t>(program_.microbatches - 1) * outputs) return {&Ops()[op::add], {}, {type, type}, {type}};
  const float factor = 1.0f / static_cast<float>(program_.microbatches);
  return {&Ops()[op::scale], {factor}, {type}, {type}};
}

std::vector<InputSource> StepNodes::Sources(std::size_t node) const {
  ASSAY_CHECK(node < size());
  const std::size_t micro = program_.micro.nodes().size();
  std::vector<InputSource> sources;
  if (node < tree_base_) {
    for (const ValueId value : program_.micro.nodes()[node % micro].inputs) {
      sources.push_back(MicroSource(value, static_cast<std::int64_t>(node / micro)));
    }
  } else if (node < update_base_) {
    sources = TreeSources(node - tree_base_);
  } else {
    for (const ValueId value : program_.update.nodes()[node - update_base_].inputs) sources.push_back(UpdateSource(value));
  }
  return sources;
}

InputSource StepNodes::Loss() const { return Reduced(0); }

InputSource StepNodes::StateAfter(std::size_t tensor) const {
  const auto output = program_.update.FindOutput(fmt::format("{}{}", kStatePrefix, program_.state[tensor].name));
  if (!output) return {.kind = InputSource::Kind::kState, .index = tensor};
  return UpdateSource(program_.update.outputs()[*output].value);
}

InputSource StepNodes::MicroSource(ValueId value, std::int64_t microbatch) const {
  const Graph& micro = program_.micro;
  if (value >= micro.inputs().size()) {
    const Producer& producer = micro_producers_[value];
    return {.kind = InputSource::Kind::kNode,
            .index = producer.output,
            .node = static_cast<std::size_t>(microbatch) * micro.nodes().size() + producer.node};
  }
  const std::string& name = micro.inputs()[value].name;
  if (name.starts_with(kStatePrefix)) return {.kind = InputSource::Kind::kState, .index = StateIndex(program_, name)};
  if (name == "rng") return {.kind = InputSource::Kind::kRng, .microbatch = microbatch};
  return {.kind = InputSource::Kind::kBatch, .index = value, .microbatch = microbatch};
}

InputSource StepNodes::MicroOutput(std::size_t output, std::int64_t microbatch) const {
  return MicroSource(program_.micro.outputs()[output].value, microbatch);
}

InputSource StepNodes::Reduced(std::size_t output) const {
  if (program_.microbatches == 1) return MicroOutput(output, 0);
  const auto scalings = static_cast<std::size_t>(program_.microbatches - 1) * program_.micro.outputs().size();
  return {.kind = InputSource::Kind::kNode, .node = tree_base_ + scalings + output};
}

// Operand `at` of a level of the tree of this micro output. Those of level 0 are the microbatches'.
InputSource StepNodes::TreeOperand(std::size_t output, std::size_t level, std::size_t at) const {
  std::size_t width = static_cast<std::size_t>(program_.microbatches),
              sums = 0;  // of the level below, and the sums before its own
  if (level == 0) return MicroOutput(output, static_cast<std::int64_t>(at));
  for (std::size_t below = 0; below + 1 < level; ++below) {
    sums += width / 2;
    width = (width + 1) / 2;
  }
  if (at >= width / 2) return TreeOperand(output, level - 1, width - 1);  // a lone last operand moves up as it is
  return {.kind = InputSource::Kind::kNode, .node = tree_base_ + (sums + at) * program_.micro.outputs().size() + output};
}

// Node `at` of the tree: level by level, pairs in ascending order; then the scalings.
std::vector<InputSource> StepNodes::TreeSources(std::size_t at) const {
  const std::size_t outputs = program_.micro.outputs().size(), output = at % outputs;
  std::size_t width = static_cast<std::size_t>(program_.microbatches), sum = at / outputs, level = 0;
  for (; width > 1 && sum >= width / 2; ++level) {
    sum -= width / 2;
    width = (width + 1) / 2;
  }
  if (width == 1) return {TreeOperand(output, level, 0)};
  return {TreeOperand(output, level, 2 * sum), TreeOperand(output, level, 2 * sum + 1)};
}

InputSource StepNodes::UpdateSource(ValueId value) const {
  const Graph& update = program_.update;
  if (value >= update.inputs().size()) {
    const Producer& producer = update_producers_[value];
    return {.kind = InputSource::Kind::kNode, .index = producer.output, .node = update_base_ + producer.node};
  }
  const std::string& name = update.inputs()[value].name;
  if (name.starts_with(kStatePrefix)) return {.kind = InputSource::Kind::kState, .index = StateIndex(program_, name)};
  if (name.starts_with(kReducedPrefix)) return Reduced(*program_.micro.FindOutput(name.substr(kReducedPrefix.size())));
  return {.kind = name == "lr" ? InputSource::Kind::kLr : InputSource::Kind::kStep};
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
