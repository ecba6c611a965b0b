// softmax softmax_grad cross_entropy.
#include <bit>

#include "assay/numerics/functions.h"
#include "assay/ops/rules.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_sums.h"
#include "assay/semantics/ref/derive_terms.h"

namespace assay::ref::derive {
namespace {

using numerics::Scalar;

struct ExpSum {
  Places x;
  float max = 0.0f;
  void Need(Range steps, NeedList& needs) const { x.Need(steps, needs); }
  float Step(float acc, std::int64_t i, Inputs in) const { return acc + numerics::Exp<Scalar>(x.Get(i, in) - max); }
};

// The maximum of a row that starts at element `first` of input 0, and the sum of exp(x - maximum), whose maximum is part `max`.
Formula::Maker RowMax(std::int64_t first, std::int64_t n) {
  return [=](Values) { return MakeFold(MaxOf{.first = first}, 0, {0, n}, kRun); };
}
Formula::Maker RowExpSum(std::int64_t first, std::int64_t n, std::int64_t max) {
  return [=](Values before) { return MakeRowSum(ExpSum{{.first = first}, FloatAt(before, max)}, n); };
}

float LogSumExp(Value max, Value sum) { return Float(max) + numerics::Log<Scalar>(Float(sum)); }

// x[target] of a row of n, or +0 where there is none.
NodePtr TargetLogit(std::int64_t first, std::int64_t n, std::int32_t target) {
  const bool valid = target >= 0 && target < n;
  return MakeFormula({.parts = {},
                      .needs = valid ? std::vector{One(0, first + target)} : std::vector<InputRange>{},
                      .rule = [=](Values, Inputs in) { return Bits(valid ? in.Floats(0)[first + target] : 0.0f); }});
}

}  // namespace

NodePtr Derive_softmax(const OpInstance& op, int, std::int64_t element) {
  const std::int64_t n = ops::LastAxisView(op.in[0]).cols;
  const std::int64_t first = element / n * n;
  return MakeFormula(
      {.parts = {RowMax(first, n), RowExpSum(first, n, 0)}, .needs = {One(0, element)}, .rule = [=](Values parts, Inputs in) {
         return Bits(numerics::Exp<Scalar>(in.Floats(0)[element] - Float(parts[0])) / Float(parts[1]));
       }});
}

NodePtr Derive_softmax_grad(const OpInstance& op, int, std::int64_t element) {
  const std::int64_t n = ops::LastAxisView(op.in[0]).cols;
  const std::int64_t first = element / n * n;
  return std::make_unique<Finish>(MakeRowSum(DotSum{{.input = 0, .first = first}, {.input = 1, .first = first}}, n),
                                  std::vector{One(0, element), One(1, element)}, [=](Value d, Inputs in) {
                                    return Bits(in.Floats(0)[element] * (in.Floats(1)[element] - Float(d)));
                                  });
}

NodePtr Derive_cross_entropy(const OpInstance& op, int output, std::int64_t row) {
  const std::int64_t n = ops::LastAxisView(op.in[0]).cols;
  const std::int64_t first = row * n;
  if (output == 1) {
    return MakeFormula({.parts = {RowMax(first, n), RowExpSum(first, n, 0)}, .needs = {}, .rule = [](Values parts, Inputs) {
                          return Bits(LogSumExp(parts[0], parts[1]));
                        }});
  }
  // The logit that the target names lies in the row, all of which the maximum needs; so what the whole needs is fixed.
  return MakeFormula({.parts = {[=](Values) { return MakeIndex(1, row); },
                                [=](Values before) { return TargetLogit(first, n, static_cast<std::int32_t>(At(before, 0))); },
                                RowMax(first, n), RowExpSum(first, n, 2)},
                      .needs = {},
                      .rule = [=](Values parts, Inputs) {
                        const auto target = static_cast<std::int32_t>(parts[0]);
                        if (target == -1) return Bits(0.0f);
                        if (target < 0 || target >= n) return Value{numerics::kCanonicalNan};
                        return Bits(LogSumExp(parts[2], parts[3]) - Float(parts[1]));
                      }});
}

}  // namespace assay::ref::derive
