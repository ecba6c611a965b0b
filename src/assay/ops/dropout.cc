// Rules of dropout. Its mask is a pure function of the random state, the stream and the element's index, so its gradient is dropout again.
#include "assay/ops/builder.h"
#include "assay/ops/define.h"
#include "assay/ops/elementwise.h"
#include "assay/ops/rules.h"

namespace assay::ops {
namespace {

constexpr AttrSpec kAttrs[] = {{"p", AttrKind::kFloat}, {"stream", AttrKind::kInt}};

TensorType RngType() { return {DType::kU32, {4}}; }

Result<std::vector<TensorType>> Infer(const Attrs& attrs, std::span<const TensorType> in) {
  ASSAY_TRY(ExpectInputs(in, 2));
  ASSAY_TRY(ExpectShape(in, 1, RngType()));
  const float p = attrs.Float(0);
  if (!(p >= 0.0f && p < 1.0f)) return Err("p: expected a probability in [0, 1), got {}", p);
  ASSAY_TRY(ExpectBetween("stream", attrs.Int(1), 0, 0xffffffff));
  return InferEqualShapes(in.first(1), 1);
}

void Gradient(GradientBuilder& g) {
  OpBuilder b(g.builder());
  g.SetInputGradient(0, b.Dropout(g.OutputGradientOrZero(0), g.input(1), g.attrs().Float(0), g.attrs().Int(1)));
}

std::vector<OpCase> Cases() {
  std::vector<OpCase> cases = ElementCases(1, {0.3f, std::int64_t{5}}, Fill::kNormal, true);
  for (float p : {0.0f, 1e-9f, 0.1f, 0.5f, 0.99999994f}) {
    cases.push_back(
        {.name = fmt::format("p{}", p), .attrs = {p, std::int64_t{0xffffffff}}, .in = {F32({1029})}, .fill = {Fill::kSpecial}});
  }
  for (OpCase& c : cases) {
    c.in.push_back(RngType());
    c.fill.push_back(Fill::kRng);
  }
  return cases;
}

}  // namespace

OpDef Define_dropout() {
  return {.aligned_inputs = 0b1,
          .attrs = kAttrs,
          .infer = Infer,
          .gradient = Gradient,
          .cost = ElementCost<20>,
          .dependencies = NeedsAligned,
          .cases = Cases};
}

}  // namespace assay::ops
