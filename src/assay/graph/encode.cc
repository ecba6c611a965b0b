// Canonical encoding of a graph, and the decoder that verifies what it reads.
#include <unordered_set>

#include "assay/base/check.h"
#include "assay/graph/graph.h"
#include "assay/graph/program_limits.h"
#include "assay/graph/type_codec.h"

namespace assay {
namespace {

// Set in the version of a node that has its op's optional attribute.
constexpr std::uint16_t kHasOptional = 0x8000;

// The schema of a node that is encoded with this version.
Result<std::span<const AttrSpec>> SchemaOf(const OpDef& def, std::uint16_t version, std::uint32_t node) {
  if ((version & ~kHasOptional) != def.version) {
    return Err("program: node {}: op {} has version {}, this build knows {}", node, def.name, version & ~kHasOptional,
               def.version);
  }
  if ((version & kHasOptional) == 0) return Required(def.attrs);
  if (!TakesOptional(def.attrs)) return Err("program: node {}: op {} has no optional attribute", node, def.name);
  return def.attrs;
}

}  // namespace

void Encode(const Graph& graph, ByteWriter& out) {
  out.U32(static_cast<std::uint32_t>(graph.inputs().size()));
  for (const NamedValue& input : graph.inputs()) {
    out.String(input.name);
    EncodeType(graph.type(input.value), out);
  }
  out.U32(static_cast<std::uint32_t>(graph.nodes().size()));
  for (const Node& node : graph.nodes()) {
    const OpDef& def = graph.def(node);
    out.U16(def.wire_id);
    out.U16(HasOptional(node.attrs, def.attrs) ? def.version | kHasOptional : def.version);
    Encode(node.attrs, out);
    out.U32(static_cast<std::uint32_t>(node.inputs.size()));
    for (ValueId v : node.inputs) out.U32(v);
  }
  out.U32(static_cast<std::uint32_t>(graph.outputs().size()));
  for (const NamedValue& output : graph.outputs()) {
    out.String(output.name);
    out.U32(output.value);
  }
}

Result<Graph> DecodeGraph(const OpTable& table, ByteReader& in) {
  GraphBuilder builder(table);
  std::unordered_set<std::string> input_names, output_names;
  ASSAY_ASSIGN(std::uint32_t inputs, in.U32());
  if (inputs > kMaxNames) return Err("program: {} inputs, at most {} allowed", inputs, kMaxNames);
  for (std::uint32_t i = 0; i < inputs; ++i) {
    ASSAY_ASSIGN(std::string name, DecodeName(in));
    ASSAY_ASSIGN(TensorType type, DecodeType(in));
    if (!input_names.insert(name).second) return Err("program: input '{}' appears twice", name);
    builder.Input(std::move(name), type);
  }
  ASSAY_ASSIGN(std::uint32_t nodes, in.U32());
  if (nodes > kMaxNodes) return Err("program: {} nodes, at most {} allowed", nodes, kMaxNodes);
  for (std::uint32_t n = 0; n < nodes; ++n) {
    ASSAY_ASSIGN(std::uint16_t wire_id, in.U16());
    ASSAY_ASSIGN(std::uint16_t version, in.U16());
    const auto op = table.FindWireId(wire_id);
    if (!op) return Err("program: node {}: unknown op {}", n, wire_id);
    ASSAY_ASSIGN(const std::span<const AttrSpec> schema, SchemaOf(table[*op], version, n));
    ASSAY_ASSIGN(Attrs attrs, DecodeAttrs(schema, in));
    ASSAY_ASSIGN(std::uint32_t count, in.U32());
    if (count > in.remaining() / 4) return Err("program: node {}: truncated inputs", n);
    if (count > kMaxNames) return Err("program: node {}: {} inputs, at most {} allowed", n, count, kMaxNames);
    std::vector<ValueId> values;
    for (std::uint32_t k = 0; k < count; ++k) {
      ASSAY_ASSIGN(std::uint32_t v, in.U32());
      values.push_back(v);
    }
    auto added = builder.TryAdd(*op, std::move(attrs), std::move(values));
    if (!added) return Err("program: node {}: {}", n, added.error().message);
    if (builder.graph().values() > kMaxValues) return Err("program: more than {} values", kMaxValues);
  }
  ASSAY_ASSIGN(std::uint32_t outputs, in.U32());
  if (outputs > kMaxNames) return Err("program: {} outputs, at most {} allowed", outputs, kMaxNames);
  for (std::uint32_t i = 0; i < outputs; ++i) {
    ASSAY_ASSIGN(std::string name, DecodeName(in));
    ASSAY_ASSIGN(std::uint32_t v, in.U32());
    if (v >= builder.graph().values()) return Err("program: output '{}' names value {}, which does not exist", name, v);
    if (!output_names.insert(name).second) return Err("program: output '{}' appears twice", name);
    builder.Output(std::move(name), v);
  }
  const std::size_t before = builder.graph().nodes().size();
  Graph graph = std::move(builder).Finish();
  if (graph.nodes().size() != before) return Err("program: {} nodes feed no output", before - graph.nodes().size());
  return graph;
}

}  // namespace assay
