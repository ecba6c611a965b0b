// Reverse-mode differentiation by emitting nodes into the same graph.
//
// The order is part of the numeric contract: nodes are visited from last to first; a value's gradient is the sum of the contributions
// of its uses in the order in which they are produced (uses by later nodes first; within a node, by input position), added one
// at a time from the left: ((c1 + c2) + c3) + ...
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "assay/graph/graph.h"

namespace assay {

// The ops autodiff itself emits, resolved by the caller because graph/ does not know the table.
struct AutodiffOps {
  OpIndex add = 0;
  OpIndex fill = 0;  // attrs: ints shape, float value
};

// What an op's gradient rule sees: the node being differentiated, and the builder to emit into.
class GradientBuilder {
 public:
  GradientBuilder(GraphBuilder& builder, const Node& node, const AutodiffOps& ops,
                  std::vector<std::optional<ValueId>> output_gradients)
      : builder_(builder),
        node_(node),
        ops_(ops),
        output_gradients_(std::move(output_gradients)),
        input_gradients_(node_.inputs.size()) {}

  GraphBuilder& builder() { return builder_; }
  const OpDef& def() const { return builder_.graph().def(node_); }
  const Attrs& attrs() const { return node_.attrs; }
  std::size_t inputs() const { return node_.inputs.size(); }
  ValueId input(std::size_t k) const { return node_.inputs[k]; }
  ValueId output(std::size_t k) const { return node_.first_output + static_cast<ValueId>(k); }
  const TensorType& type(ValueId value) const { return builder_.type(value); }

  // The gradient that reaches output k; absent when nothing used it.
  std::optional<ValueId> OutputGradient(std::size_t k) const { return output_gradients_[k]; }
  // The same, with zeros where it is absent.
  ValueId OutputGradientOrZero(std::size_t k);

  // Emits one node and returns its first output, or all of them.
  ValueId Emit(OpIndex op, Attrs attrs, std::vector<ValueId> inputs);
  std::vector<ValueId> EmitAll(OpIndex op, Attrs attrs, std::vector<ValueId> inputs);

  // Contributes `gradient` (same type as the input) to input k; at most once per input.
  void SetInputGradient(std::size_t k, ValueId gradient);
  std::optional<ValueId> input_gradient(std::size_t k) const { return input_gradients_[k]; }
  // Whether anyone wants the gradient of input k; a rule may skip work otherwise.
  bool Wants(std::size_t k) const { return wanted_.empty() || wanted_[k]; }
  void SetWanted(std::vector<bool> wanted) { wanted_ = std::move(wanted); }

 private:
  GraphBuilder& builder_;
  Node node_;  // a copy: the builder's storage moves as nodes are added
  AutodiffOps ops_;
  std::vector<std::optional<ValueId>> output_gradients_;
  std::vector<std::optional<ValueId>> input_gradients_;
  std::vector<bool> wanted_;
};

// The gradients of the scalar `loss` with respect to each of `wrt`, in order (zeros where loss does not depend on it).
std::vector<ValueId> Gradients(GraphBuilder& builder, ValueId loss, std::span<const ValueId> wrt, const AutodiffOps& ops);

}  // namespace assay
