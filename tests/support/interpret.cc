#include "support/interpret.h"

#include "assay/base/check.h"
#include "assay/semantics/ref/ref.h"

namespace assay::testkit {

std::vector<Tensor> Interpret(const Graph& graph, std::span<const Tensor> inputs) {
  ASSAY_CHECK(inputs.size() == graph.inputs().size());
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSAY_CHECK(inputs[i].type() == graph.type(graph.inputs()[i].value));
    values.push_back(inputs[i].Clone());
  }
  for (const Node& node : graph.nodes()) {
    const OpInstance op = graph.Instance(node);
    std::vector<const void*> in;
    std::vector<void*> out;
    for (ValueId v : node.inputs) in.push_back(values[v].data());
    for (const TensorType& type : op.out) values.emplace_back(type);
    for (std::uint32_t k = 0; k < node.outputs; ++k) out.push_back(values[node.first_output + k].data());
    for (std::uint32_t k = 0; k < node.outputs; ++k) {
      ref::Compute(node.op, {&op, in, out}, static_cast<int>(k), {0, op.out[k].elements()});
    }
  }
  return values;
}

}  // namespace assay::testkit
