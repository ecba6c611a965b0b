// Rules of the optimizers: sgd adam adamw. They end a step, so they have no gradient.
#include "assay/ops/define.h"
#include "assay/ops/elementwise.h"
#include "assay/ops/rules.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kSgd[] = {{"momentum", AttrKind::kFloat},
                             {"dampening", AttrKind::kFloat},
                             {"weight_decay", AttrKind::kFloat},
                             {"nesterov", AttrKind::kInt}};
constexpr AttrSpec kAdam[] = {
    {"beta1", AttrKind::kFloat}, {"beta2", AttrKind::kFloat}, {"eps", AttrKind::kFloat}, {"weight_decay", AttrKind::kFloat}};

TensorType StepType() { return {DType::kI64, {}}; }

// `state` equally shaped inputs (the parameter, its gradient, moments), then the scalars lr and factor.
Status ExpectParameter(std::span<const TensorType> in, std::size_t state) {
  ASSAY_TRY(InferEqualShapes(in.first(state), state));
  ASSAY_TRY(ExpectShape(in, state, F32({})));
  return ExpectShape(in, state + 1, F32({}));
}

Result<std::vector<TensorType>> InferSgd(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 5));
  ASSAY_TRY(ExpectParameter(in, 3));
  ASSAY_TRY(ExpectFinite("momentum", attrs.Float(0)));
  ASSAY_TRY(ExpectFinite("dampening", attrs.Float(1)));
  ASSAY_TRY(ExpectFinite("weight_decay", attrs.Float(2)));
  ASSAY_TRY(ExpectFlag("nesterov", attrs.Int(3)));
  return std::vector{in[0], in[0]};
}

Status ExpectDecayRate(const char* name, float beta) {
  if (!(beta >= 0.0f && beta < 1.0f)) return Err("{}: expected a number in [0, 1), got {}", name, beta);
  return {};
}

Result<std::vector<TensorType>> InferAdam(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 7));
  ASSAY_TRY(ExpectParameter(in, 4));
  ASSAY_TRY(ExpectShape(in, 6, StepType()));
  ASSAY_TRY(ExpectDecayRate("beta1", attrs.Float(0)));
  ASSAY_TRY(ExpectDecayRate("beta2", attrs.Float(1)));
  ASSAY_TRY(ExpectEpsilon(attrs.Float(2)));
  ASSAY_TRY(ExpectFinite("weight_decay", attrs.Float(3)));
  return std::vector{in[0], in[0], in[0]};
}

// The element cases with the optimizer's scalars; a second moment is never negative outside the special case.
std::vector<OpCase> ParameterCases(std::string prefix, std::size_t state, const Attrs& attrs, bool with_step) {
  std::vector<OpCase> cases = ElementCases(state, attrs, Fill::kNormal, false);
  for (OpCase& c : cases) {
    if (!prefix.empty()) c.name = prefix + "_" + c.name;
    if (state == 4 && c.fill[3] != Fill::kSpecial) c.fill[3] = Fill::kPositive;
    c.in.insert(c.in.end(), {F32({}), F32({})});
    c.fill.insert(c.fill.end(), {Fill::kPositive, Fill::kPositive});
    if (with_step) {
      c.in.push_back(StepType());
      c.fill.push_back(Fill::kStep);
    }
  }
  return cases;
}

// One small and one special case for each further attribute list.
void AddVariants(std::vector<OpCase>& cases, std::size_t state, const Attrs& attrs, bool with_step, const std::string& prefix) {
  for (OpCase& c : ParameterCases(prefix, state, attrs, with_step)) {
    if (c.name == prefix + "_special" || c.name == prefix + "_n17") cases.push_back(std::move(c));
  }
}

std::vector<OpCase> SgdCases() {
  constexpr std::int64_t kPlain = 0, kNesterov = 1;
  std::vector<OpCase> cases = ParameterCases("", 3, {0.9f, 0.0f, 0.0f, kPlain}, false);
  AddVariants(cases, 3, {0.0f, 0.0f, 0.0f, kPlain}, false, "plain");
  AddVariants(cases, 3, {0.0f, 0.0f, 1e-4f, kPlain}, false, "decay");
  AddVariants(cases, 3, {0.9f, 0.5f, 1e-4f, kPlain}, false, "dampening");
  AddVariants(cases, 3, {0.9f, 0.0f, 1e-4f, kNesterov}, false, "nesterov");
  return cases;
}

std::vector<OpCase> AdamCases() {
  std::vector<OpCase> cases = ParameterCases("", 4, {0.9f, 0.999f, 1e-8f, 0.01f}, true);
  AddVariants(cases, 4, {0.9f, 0.95f, 1e-8f, 0.0f}, true, "no_decay");
  AddVariants(cases, 4, {0.0f, 0.0f, 0.0f, 0.1f}, true, "no_memory");
  return cases;
}

OpDef Adam() {
  return {.aligned_inputs = 0b1111,
          .attrs = kAdam,
          .infer = InferAdam,
          .gradient = nullptr,
          .cost = ElementCost<16>,
          .dependencies = NeedsAligned,
          .cases = AdamCases};
}

}  // namespace

OpDef Define_sgd() {
  return {.aligned_inputs = 0b111,
          .attrs = kSgd,
          .infer = InferSgd,
          .gradient = nullptr,
          .cost = ElementCost<8>,
          .dependencies = NeedsAligned,
          .cases = SgdCases};
}

OpDef Define_adam() { return Adam(); }
OpDef Define_adamw() { return Adam(); }

}  // namespace assay::ops
