// Rules of the activations: relu gelu_tanh gelu_erf sigmoid silu, and of the ops that are their gradients.
#include "assay/ops/builder.h"
#include "assay/ops/define.h"
#include "assay/ops/elementwise.h"

namespace assay::ops {
namespace {

void GradientRelu(GradientBuilder& g) {
  g.SetInputGradient(0, OpBuilder(g.builder()).UnaryGrad(op::relu_grad, g.output(0), g.OutputGradientOrZero(0)));
}

void GradientSigmoid(GradientBuilder& g) {
  OpBuilder b(g.builder());
  const ValueId y = g.output(0);
  const ValueId slope = b.Mul(y, b.AddScalar(b.Neg(y), 1.0f));
  g.SetInputGradient(0, b.Mul(g.OutputGradientOrZero(0), slope));
}

// An activation whose gradient is one op of its input and dy.
template <OpIndex gradient_op>
void GradientByOp(GradientBuilder& g) {
  g.SetInputGradient(0, OpBuilder(g.builder()).UnaryGrad(gradient_op, g.input(0), g.OutputGradientOrZero(0)));
}

std::vector<OpCase> Cases() { return ElementCases(1, {}, Fill::kNormal, true); }
std::vector<OpCase> GradientCases() { return ElementCases(2, {}, Fill::kNormal, false); }

OpDef Activation(void (*gradient)(GradientBuilder&)) {
  return {.aligned_inputs = 0b1,
          .attrs = {},
          .infer = InferUnary,
          .gradient = gradient,
          .cost = ElementCost<30>,
          .dependencies = NeedsAligned,
          .cases = Cases};
}

OpDef ActivationGradient() {
  return {.aligned_inputs = 0b11,
          .attrs = {},
          .infer = InferBinary,
          .gradient = nullptr,
          .cost = ElementCost<40>,
          .dependencies = NeedsAligned,
          .cases = GradientCases};
}

}  // namespace

OpDef Define_relu() { return Activation(GradientRelu); }
OpDef Define_gelu_tanh() { return Activation(GradientByOp<op::gelu_tanh_grad>); }
OpDef Define_gelu_erf() { return Activation(GradientByOp<op::gelu_erf_grad>); }
OpDef Define_sigmoid() { return Activation(GradientSigmoid); }
OpDef Define_silu() { return Activation(GradientByOp<op::silu_grad>); }
OpDef Define_relu_grad() { return ActivationGradient(); }
OpDef Define_gelu_tanh_grad() { return ActivationGradient(); }
OpDef Define_gelu_erf_grad() { return ActivationGradient(); }
OpDef Define_silu_grad() { return ActivationGradient(); }

}  // namespace assay::ops
