#include "assay/graph/autodiff.h"

#include "assay/base/check.h"

namespace assay {

ValueId GradientBuilder::OutputGradientOrZero(std::size_t k) {
  if (!output_gradients_[k]) {
    const TensorType type = builder_.type(output(k));
    ASSAY_CHECK(type.dtype == DType::kF32);
    const auto dims = type.shape.dims();
    output_gradients_[k] = Emit(ops_.fill, {std::vector<std::int64_t>(dims.begin(), dims.end()), 0.0f}, {});
  }
  return *output_gradients_[k];
}

ValueId GradientBuilder::Emit(OpIndex op, Attrs attrs, std::vector<ValueId> inputs) {
  return EmitAll(op, std::move(attrs), std::move(inputs)).front();
}

std::vector<ValueId> GradientBuilder::EmitAll(OpIndex op, Attrs attrs, std::vector<ValueId> inputs) {
  return builder_.Add(op, std::move(attrs), std::move(inputs));
}

void GradientBuilder::SetInputGradient(std::size_t k, ValueId gradient) {
  ASSAY_CHECK(!input_gradients_[k]);
  ASSAY_CHECK(builder_.type(gradient) == builder_.type(input(k)));
  input_gradients_[k] = gradient;
}

std::vector<ValueId> Gradients(GraphBuilder& builder, ValueId loss, std::span<const ValueId> wrt, const AutodiffOps& ops) {
  const std::size_t values = builder.graph().values();
  const std::size_t nodes = builder.graph().nodes().size();
  ASSAY_CHECK(builder.type(loss) == (TensorType{DType::kF32, {}}));

  // Only values on a path from `wrt` need a gradient.
  std::vector<bool> needed(values, false);
  for (ValueId v : wrt) needed[v] = true;
  for (std::size_t n = 0; n < nodes; ++n) {
    const Node& node = builder.graph().nodes()[n];
    bool any = false;
    for (ValueId v : node.inputs) any = any || needed[v];
    for (std::uint32_t k = 0; k < node.outputs; ++k) {
      const ValueId output = node.first_output + k;
      needed[output] = any && builder.type(output).dtype == DType::kF32;
    }
  }

  std::vector<std::optional<ValueId>> gradient(values);
  gradient[loss] = builder.Add(ops.fill, {std::vector<std::int64_t>{}, 1.0f}, {}).front();
  for (std::size_t n = nodes; n-- > 0;) {
    const Node node = builder.graph().nodes()[n];
    std::vector<std::optional<ValueId>> outputs;
    bool reached = false;
    for (std::uint32_t k = 0; k < node.outputs; ++k) {
      outputs.push_back(gradient[node.first_output + k]);
      reached = reached || outputs.back().has_value();
    }
    std::vector<bool> wanted;
    bool any = false;
    for (ValueId v : node.inputs) {
      wanted.push_back(needed[v]);
      any = any || needed[v];
    }
    if (!reached || !any) continue;
    const OpDef& def = builder.graph().def(node);
    ASSAY_CHECK(def.gradient != nullptr);
    GradientBuilder rule(builder, node, ops, std::move(outputs));
    rule.SetWanted(wanted);
    def.gradient(rule);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!wanted[k] || !rule.input_gradient(k)) continue;
      std::optional<ValueId>& total = gradient[node.inputs[k]];
      total = total ? builder.Add(ops.add, {}, {*total, *rule.input_gradient(k)}).front() : *rule.input_gradient(k);
    }
  }

  std::vector<ValueId> result;
  for (ValueId v : wrt) {
    if (!gradient[v]) {
      const auto dims = builder.shape(v).dims();
      gradient[v] = builder.Add(ops.fill, {std::vector<std::int64_t>(dims.begin(), dims.end()), 0.0f}, {}).front();
    }
    result.push_back(*gradient[v]);
  }
  return result;
}

}  // namespace assay
