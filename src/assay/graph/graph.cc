#include "assay/graph/graph.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "assay/base/check.h"
#include "assay/graph/type_codec.h"

namespace assay {
namespace {

std::optional<std::size_t> Find(std::span<const NamedValue> values, std::string_view name) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == name) return i;
  }
  return std::nullopt;
}

bool AreUnique(std::span<const NamedValue> values) {
  std::unordered_set<std::string_view> names;
  for (const NamedValue& value : values) {
    if (!names.insert(value.name).second) return false;
  }
  return true;
}

}  // namespace

OpInstance Graph::Instance(const Node& node) const {
  OpInstance op;
  op.def = &def(node);
  op.attrs = node.attrs;
  for (ValueId v : node.inputs) op.in.push_back(types_[v]);
  for (std::uint32_t k = 0; k < node.outputs; ++k) op.out.push_back(types_[node.first_output + k]);
  return op;
}

std::optional<std::size_t> Graph::FindInput(std::string_view name) const { return Find(inputs_, name); }
std::optional<std::size_t> Graph::FindOutput(std::string_view name) const { return Find(outputs_, name); }

ValueId GraphBuilder::Input(std::string name, TensorType type) {
  ASSAY_CHECK(graph_.nodes_.empty());
  const auto value = static_cast<ValueId>(graph_.types_.size());
  graph_.types_.push_back(type);
  graph_.inputs_.push_back({std::move(name), value});
  return value;
}

Result<std::vector<ValueId>> GraphBuilder::TryAdd(OpIndex op, Attrs attrs, std::vector<ValueId> inputs) {
  const OpDef& def = (*graph_.table_)[op];
  if (!Matches(attrs, def.attrs)) return Err("op {}: the attributes do not match the schema", def.name);
  std::vector<TensorType> in;
  for (ValueId v : inputs) {
    if (v >= graph_.types_.size()) return Err("op {}: input value {} does not exist yet", def.name, v);
    in.push_back(graph_.types_[v]);
  }
  auto types = def.infer(attrs, in);
  if (!types) return Err("op {}: {}", def.name, types.error().message);
  for (const TensorType& type : *types) {
    if (!WithinLimits(type.shape)) return Err("op {}: output {} has more than 2^34 elements", def.name, ToString(type));
  }
  Node node;
  node.op = op;
  node.attrs = std::move(attrs);
  node.inputs = std::move(inputs);
  node.first_output = static_cast<ValueId>(graph_.types_.size());
  node.outputs = static_cast<std::uint32_t>(types->size());
  std::vector<ValueId> outputs;
  for (const TensorType& type : *types) {
    outputs.push_back(static_cast<ValueId>(graph_.types_.size()));
    graph_.types_.push_back(type);
  }
  graph_.nodes_.push_back(std::move(node));
  return outputs;
}

std::vector<ValueId> GraphBuilder::Add(OpIndex op, Attrs attrs, std::vector<ValueId> inputs) {
  auto outputs = TryAdd(op, std::move(attrs), std::move(inputs));
  if (!outputs) CheckFailed(outputs.error().message.c_str(), __FILE__, __LINE__);
  return std::move(outputs).value();
}

void GraphBuilder::Output(std::string name, ValueId value) {
  ASSAY_CHECK(value < graph_.types_.size());
  graph_.outputs_.push_back({std::move(name), value});
}

Graph GraphBuilder::Finish() && {
  ASSAY_CHECK(AreUnique(graph_.inputs_) && AreUnique(graph_.outputs_));
  std::vector<bool> live(graph_.types_.size(), false);
  for (const NamedValue& output : graph_.outputs_) live[output.value] = true;
  std::vector<bool> keep(graph_.nodes_.size(), false);
  for (std::size_t n = graph_.nodes_.size(); n-- > 0;) {
    const Node& node = graph_.nodes_[n];
    for (std::uint32_t k = 0; k < node.outputs; ++k) {
      if (live[node.first_output + k]) keep[n] = true;
    }
    if (!keep[n]) continue;
    for (ValueId v : node.inputs) live[v] = true;
  }

  if (std::ranges::find(keep, false) == keep.end()) return std::move(graph_);  // numbered as they would be

  Graph out;
  out.table_ = graph_.table_;
  out.inputs_ = std::move(graph_.inputs_);
  std::vector<ValueId> renamed(graph_.types_.size(), 0);
  for (const NamedValue& input : out.inputs_) {
    renamed[input.value] = static_cast<ValueId>(out.types_.size());
    out.types_.push_back(graph_.types_[input.value]);
  }
  for (std::size_t n = 0; n < graph_.nodes_.size(); ++n) {
    if (!keep[n]) continue;
    Node node = std::move(graph_.nodes_[n]);
    for (ValueId& v : node.inputs) v = renamed[v];
    const ValueId old_first = node.first_output;
    node.first_output = static_cast<ValueId>(out.types_.size());
    for (std::uint32_t k = 0; k < node.outputs; ++k) {
      renamed[old_first + k] = node.first_output + k;
      out.types_.push_back(graph_.types_[old_first + k]);
    }
    out.nodes_.push_back(std::move(node));
  }
  for (NamedValue& output : graph_.outputs_) out.outputs_.push_back({std::move(output.name), renamed[output.value]});
  return out;
}

}  // namespace assay
