// batchnorm_train batchnorm_grad. Parts are the sums down the column.
#include <cmath>

#include "assay/numerics/fma.h"
#include "assay/numerics/functions.h"
#include "assay/ops/rules.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_sums.h"
#include "assay/semantics/ref/derive_terms.h"

namespace assay::ref::derive {
namespace {

// dy · (x - mean) · rstd down a column; mean and rstd are inputs 2 and 3.
struct NormalisedDot {
  std::int64_t column, cols;
  float H(std::int64_t i, Inputs in) const { return (in.Floats(0)[i] - in.Floats(2)[column]) * in.Floats(3)[column]; }
  void Need(Range steps, NeedList& needs) const {
    for (const std::size_t input : {0u, 4u}) Places{.input = input, .first = column, .stride = cols}.Need(steps, needs);
    needs.Add(2, column);
    needs.Add(3, column);
  }
  float Step(float acc, std::int64_t r, Inputs in) const {
    const std::int64_t i = r * cols + column;
    return numerics::Fma(in.Floats(4)[i], H(i, in), acc);
  }
};

}  // namespace

NodePtr Derive_batchnorm_train(const OpInstance& op, int output, std::int64_t element) {
  const ops::MatrixView view = ops::LastAxisView(op.in[0]);
  const float eps = op.attrs.Float(0), count = static_cast<float>(view.rows);
  const std::int64_t c = element % view.cols;
  const Places x{.first = c, .stride = view.cols};
  if (output == 1) {
    return std::make_unique<Finish>(MakeColSum(PlainSum{x}, view.rows), std::vector<InputRange>{},
                                    [=](Value sum, Inputs) { return Bits(Float(sum) / count); });
  }
  Formula::Spec spec;
  spec.parts = {[=](Values) { return MakeColSum(PlainSum{x}, view.rows); },
                [=](Values before) { return MakeColSum(SquaresSum{x, FloatAt(before, 0) / count}, view.rows); }};
  if (output == 0) spec.needs = {One(0, element), One(1, c), One(2, c)};
  spec.rule = [=](Values parts, Inputs in) {
    const float mean = Float(parts[0]) / count, var = Float(parts[1]) / count;
    if (output == 2) return Bits(var);
    const float rstd = numerics::Rsqrt<numerics::Scalar>(var + eps);
    if (output == 3) return Bits(rstd);
    return Bits(numerics::Fma(in.Floats(0)[element] - mean, in.Floats(1)[c] * rstd, in.Floats(2)[c]));
  };
  return MakeFormula(std::move(spec));
}

NodePtr Derive_batchnorm_grad(const OpInstance& op, int output, std::int64_t element) {
  const ops::MatrixView view = ops::LastAxisView(op.in[0]);
  const auto count = static_cast<float>(view.rows);
  const std::int64_t c = element % view.cols;
  const NormalisedDot dot{c, view.cols};
  const auto dgamma = [=](Values) { return MakeColSum(dot, view.rows); };
  const auto dbeta = [=](Values) { return MakeColSum(PlainSum{{.input = 4, .first = c, .stride = view.cols}}, view.rows); };
  if (output == 1) return dgamma({});
  if (output == 2) return dbeta({});
  return MakeFormula({.parts = {dgamma, dbeta},
                      .needs = {One(0, element), One(1, c), One(2, c), One(3, c), One(4, element)},
                      .rule = [=](Values parts, Inputs in) {
                        const float scale = in.Floats(1)[c] * in.Floats(3)[c];
                        const float x = numerics::Fma(-dot.H(element, in), Float(parts[0]) / count, in.Floats(4)[element]);
                        return Bits(scale * (x - Float(parts[1]) / count));
                      }});
}

}  // namespace assay::ref::derive
