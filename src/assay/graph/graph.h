// Graph: a typed SSA program fragment. Values are numbered: first the inputs, then the outputs of each node in node order, so a
// node uses only values with smaller numbers and the graph is acyclic by construction.
//
// Built through GraphBuilder, which infers types; read from bytes through Decode, which runs the verifier. A Graph that exists
// is valid. Value type; immutable after construction; safe to share between threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/graph/op_def.h"

namespace assay {

struct Node {
  OpIndex op = 0;
  Attrs attrs;
  std::vector<ValueId> inputs;
  ValueId first_output = 0;
  std::uint32_t outputs = 0;
};

struct NamedValue {
  std::string name;  // unique among a graph's inputs, and among its outputs
  ValueId value = 0;
};

class Graph {
 public:
  const OpTable& table() const { return *table_; }
  std::span<const NamedValue> inputs() const { return inputs_; }
  std::span<const NamedValue> outputs() const { return outputs_; }
  std::span<const Node> nodes() const { return nodes_; }
  std::size_t values() const { return types_.size(); }
  const TensorType& type(ValueId value) const { return types_[value]; }
  const OpDef& def(const Node& node) const { return (*table_)[node.op]; }
  OpInstance Instance(const Node& node) const;

  std::optional<std::size_t> FindInput(std::string_view name) const;
  std::optional<std::size_t> FindOutput(std::string_view name) const;

 private:
  friend class GraphBuilder;
  friend Result<Graph> DecodeGraph(const OpTable& table, ByteReader& in);
  const OpTable* table_ = nullptr;
  std::vector<NamedValue> inputs_;
  std::vector<NamedValue> outputs_;
  std::vector<Node> nodes_;
  std::vector<TensorType> types_;
};

// The canonical encoding (docs/formats/program.md): the bytes that are hashed into a job's identity.
void Encode(const Graph& graph, ByteWriter& out);
// Accepts only bytes that Encode would write, and only graphs that the verifier accepts.
Result<Graph> DecodeGraph(const OpTable& table, ByteReader& in);

// Builds a graph. Model code is trusted: types that do not fit are a broken invariant, not an error; use the Try form for anything
// that came from outside.
class GraphBuilder {
 public:
  explicit GraphBuilder(const OpTable& table) { graph_.table_ = &table; }

  // All inputs must be declared before the first node.
  ValueId Input(std::string name, TensorType type);
  Result<std::vector<ValueId>> TryAdd(OpIndex op, Attrs attrs, std::vector<ValueId> inputs);
  std::vector<ValueId> Add(OpIndex op, Attrs attrs, std::vector<ValueId> inputs);
  void Output(std::string name, ValueId value);

  const TensorType& type(ValueId value) const { return graph_.type(value); }
  const Shape& shape(ValueId value) const { return graph_.type(value).shape; }
  const Graph& graph() const { return graph_; }
  // Drops nodes that no output depends on, renumbers, and returns the graph.
  Graph Finish() &&;

 private:
  Graph graph_;
};

}  // namespace assay
