// row_sum col_sum row_max row_max_grad sum_squares clip_scale.
#include <cmath>

#include "assay/ops/rules.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_sums.h"
#include "assay/semantics/ref/derive_terms.h"
#include "assay/semantics/ref/reduce_rules.h"

namespace assay::ref::derive {
namespace {

// Of one lane of row_max: 16 leaves.
constexpr std::int64_t kLaneRun = 512;
// Inputs of clip_scale, each a tensor of its own.
constexpr std::int64_t kInputsAtOnce = 32;

ops::MatrixView View(const OpInstance& op) { return ops::SplitView(op.in[0], op.attrs.Int(0)); }

// Whether some element of a row is the maximum: 0 or 1.
struct AnyMaximum {
  std::int64_t row, cols;

  void Need(Range steps, NeedList& needs) const {
    needs.Add(0, row * cols + steps.begin, steps.size());
    needs.Add(1, row);
  }
  Value Run(Value start, Range steps, Inputs in) const {
    const float* x = in.Floats(0) + row * cols;
    bool found = start != 0;
    for (std::int64_t i = steps.begin; i < steps.end && !found; ++i) found = IsMaximum(x[i], in.Floats(1)[row]);
    return found ? 1 : 0;
  }
};

// The inputs of clip_scale, added from the left.
struct TotalOfInputs {
  void Need(Range steps, NeedList& needs) const {
    for (std::int64_t k = steps.begin; k < steps.end; ++k) needs.Add(static_cast<int>(k), 0);
  }
  Value Run(Value start, Range steps, Inputs in) const {
    float total = Float(start);
    for (std::int64_t k = steps.begin; k < steps.end; ++k) {
      const float x = *in.Floats(static_cast<std::size_t>(k));
      total = k == 0 ? x : total + x;
    }
    return Bits(total);
  }
};

}  // namespace

NodePtr Derive_row_sum(const OpInstance& op, int, std::int64_t element) {
  const std::int64_t n = View(op).cols;
  return MakeRowSum(PlainSum{{.first = element * n}}, n);
}

NodePtr Derive_col_sum(const OpInstance& op, int, std::int64_t element) {
  const ops::MatrixView view = View(op);
  return MakeColSum(PlainSum{{.first = element, .stride = view.cols}}, view.rows);
}

NodePtr Derive_row_max(const OpInstance& op, int, std::int64_t element) {
  const std::int64_t n = View(op).cols;
  Formula::Spec spec;
  for (std::int64_t lane = 0; lane < std::min(n, numerics::kRowLanes); ++lane) {
    const MaxOf terms{.first = element * n + lane, .stride = numerics::kRowLanes};
    const Range steps{0, CeilDiv(n - lane, numerics::kRowLanes)};
    spec.parts.push_back([=](Values) { return MakeFold(terms, 0, steps, kLaneRun); });
  }
  spec.rule = [](Values lanes, Inputs) {
    float m = Float(lanes[0]);
    for (const Value lane : lanes) m = numerics::Max(m, Float(lane));
    return Bits(m);
  };
  return MakeFormula(std::move(spec));
}

NodePtr Derive_row_max_grad(const OpInstance& op, int, std::int64_t element) {
  const std::int64_t n = View(op).cols;
  const std::int64_t row = element / n;
  return std::make_unique<Finish>(MakeFold(AnyMaximum{row, n}, 0, {0, element % n}, kRun),
                                  std::vector{One(0, element), One(1, row), One(2, row)}, [=](Value earlier, Inputs in) {
                                    const bool first = earlier == 0 && IsMaximum(in.Floats(0)[element], in.Floats(1)[row]);
                                    return Bits(first ? in.Floats(2)[row] : 0.0f);
                                  });
}

NodePtr Derive_sum_squares(const OpInstance& op, int, std::int64_t) { return MakeRowSum(SquaresSum{}, op.in[0].elements()); }

NodePtr Derive_clip_scale(const OpInstance& op, int output, std::int64_t) {
  const float max_norm = op.attrs.Float(0);
  NodePtr total = MakeFold(TotalOfInputs{}, 0, {0, static_cast<std::int64_t>(op.in.size())}, kInputsAtOnce);
  return std::make_unique<Finish>(std::move(total), std::vector<InputRange>{}, [=](Value sum, Inputs) {
    const float norm = std::sqrt(Float(sum));
    return Bits(output == 0 ? norm : ClipFactor(norm, max_norm));
  });
}

}  // namespace assay::ref::derive
