// layernorm, rmsnorm and their gradients. Parts are the sums themselves; what is divided by the count, or has its root taken, follows from them.
#include "assay/numerics/fma.h"
#include "assay/numerics/functions.h"
#include "assay/ops/rules.h"
#include "assay/semantics/ref/derive_ops.h"
#include "assay/semantics/ref/derive_sums.h"
#include "assay/semantics/ref/derive_terms.h"

namespace assay::ref::derive {
namespace {

using numerics::Scalar;

// An element of a row and its row.
struct Position {
  std::int64_t i, row, column, first, n;
  float count() const { return static_cast<float>(n); }
};

Position PositionOf(const OpInstance& op, std::int64_t element) {
  const std::int64_t n = ops::LastAxisView(op.in[0]).cols;
  return {element, element / n, element % n, element / n * n, n};
}
// Of element 0 of a row, for what there is one of per row.
Position RowOf(const OpInstance& op, std::int64_t row) { return PositionOf(op, row * ops::LastAxisView(op.in[0]).cols); }

Formula::Maker RowTotal(const Position& p) {
  return [=](Values) { return MakeRowSum(PlainSum{{.first = p.first}}, p.n); };
}
// Of the squares of x - mean, whose sum is part 0.
Formula::Maker RowDeviations(const Position& p) {
  return [=](Values before) { return MakeRowSum(SquaresSum{{.first = p.first}, FloatAt(before, 0) / p.count()}, p.n); };
}

float Rstd(Value squares, float count, float eps) { return numerics::Rsqrt<Scalar>(Float(squares) / count + eps); }

// g = dy · gamma of a row.
struct Scaled {
  std::size_t dy, gamma;
  std::int64_t first;
  void Need(Range steps, NeedList& needs) const {
    needs.Add(static_cast<int>(dy), first + steps.begin, steps.size());
    needs.Add(static_cast<int>(gamma), steps.begin, steps.size());
  }
  float Get(std::int64_t i, Inputs in) const { return in.Floats(dy)[first + i] * in.Floats(gamma)[i]; }
};

struct ScaledSum {
  Scaled g;
  void Need(Range steps, NeedList& needs) const { g.Need(steps, needs); }
  float Step(float acc, std::int64_t i, Inputs in) const { return acc + g.Get(i, in); }
};

// h = (x - mean) · rstd, or x · rstd where mean is no input; the statistics are per row. Element i of x is in row i / cols.
struct Normalised {
  static constexpr int kNone = -1;
  int mean = kNone, rstd = 0;
  std::int64_t cols = 0;

  void Need(Range elements, NeedList& needs) const {
    needs.Add(0, elements.begin, elements.size());
    const Range rows = ops::RowsOf(elements, cols);
    if (mean != kNone) needs.Add(mean, rows.begin, rows.size());
    needs.Add(rstd, rows.begin, rows.size());
  }
  float Get(std::int64_t i, Inputs in) const {
    const float x = in.Floats(0)[i];
    const float r = in.Floats(static_cast<std::size_t>(rstd))[i / cols];
    return (mean == kNone ? x : x - in.Floats(static_cast<std::size_t>(mean))[i / cols]) * r;
  }
};

struct ScaledDot {
  Scaled g;
  Normalised h;
  void Need(Range steps, NeedList& needs) const {
    g.Need(steps, needs);
    h.Need({g.first + steps.begin, g.first + steps.end}, needs);
  }
  float Step(float acc, std::int64_t i, Inputs in) const { return numerics::Fma(g.Get(i, in), h.Get(g.first + i, in), acc); }
};

// dy · h down a column.
struct ColumnDot {
  Places dy;
  Normalised h;
  void Need(Range steps, NeedList& needs) const {
    dy.Need(steps, needs);
    for (std::int64_t r = steps.begin; r < steps.end; ++r) {
      const std::int64_t i = dy.first + r * dy.stride;
      h.Need({i, i + 1}, needs);
    }
  }
  float Step(float acc, std::int64_t r, Inputs in) const {
    return numerics::Fma(dy.Get(r, in), h.Get(dy.first + r * dy.stride, in), acc);
  }
};

}  // namespace

NodePtr Derive_layernorm(const OpInstance& op, int output, std::int64_t element) {
  const float eps = op.attrs.Float(0);
  const Position p = output == 0 ? PositionOf(op, element) : RowOf(op, element);
  if (output == 1) {
    return std::make_unique<Finish>(RowTotal(p)({}), std::vector<InputRange>{},
                                    [=](Value sum, Inputs) { return Bits(Float(sum) / p.count()); });
  }
  Formula::Spec spec{.parts = {RowTotal(p), RowDeviations(p)}, .needs = {}, .rule = {}};
  if (output == 2) {
    spec.rule = [=](Values parts, Inputs) { return Bits(Rstd(parts[1], p.count(), eps)); };
  } else {
    spec.needs = {One(0, p.i), One(1, p.column), One(2, p.column)};
    spec.rule = [=](Values parts, Inputs in) {
      const float h = (in.Floats(0)[p.i] - Float(parts[0]) / p.count()) * Rstd(parts[1], p.count(), eps);
      return Bits(numerics::Fma(h, in.Floats(1)[p.column], in.Floats(2)[p.column]));
    };
  }
  return MakeFormula(std::move(spec));
}

NodePtr Derive_layernorm_grad_x(const OpInstance& op, int, std::int64_t element) {
  const Position p = PositionOf(op, element);
  const Scaled g{.dy = 4, .gamma = 1, .first = p.first};
  const Normalised h{.mean = 2, .rstd = 3, .cols = p.n};
  return MakeFormula({.parts = {[=](Values) { return MakeRowSum(ScaledSum{g}, p.n); },
                                [=](Values) { return MakeRowSum(ScaledDot{g, h}, p.n); }},
                      .needs = {One(0, p.i), One(1, p.column), One(2, p.row), One(3, p.row), One(4, p.i)},
                      .rule = [=](Values parts, Inputs in) {
                        const float a = Float(parts[0]) / p.count(), b = Float(parts[1]) / p.count();
                        return Bits(in.Floats(3)[p.row] * (numerics::Fma(-h.Get(p.i, in), b, g.Get(p.column, in)) - a));
                      }});
}

NodePtr Derive_layernorm_grad_params(const OpInstance& op, int output, std::int64_t element) {
  const ops::MatrixView view = ops::LastAxisView(op.in[0]);
  const Places dy{.input = 3, .first = element, .stride = view.cols};
  if (output == 1) return MakeColSum(PlainSum{dy}, view.rows);
  return MakeColSum(ColumnDot{dy, {.mean = 1, .rstd = 2, .cols = view.cols}}, view.rows);
}

NodePtr Derive_rmsnorm(const OpInstance& op, int output, std::int64_t element) {
  const float eps = op.attrs.Float(0);
  const Position p = output == 0 ? PositionOf(op, element) : RowOf(op, element);
  NodePtr squares = MakeRowSum(SquaresSum{{.first = p.first}}, p.n);
  if (output == 1) {
    return std::make_unique<Finish>(std::move(squares), std::vector<InputRange>{},
                                    [=](Value sum, Inputs) { return Bits(Rstd(sum, p.count(), eps)); });
  }
  return std::make_unique<Finish>(std::move(squares), std::vector{One(0, p.i), One(1, p.column)}, [=](Value sum, Inputs in) {
    return Bits((in.Floats(0)[p.i] * Rstd(sum, p.count(), eps)) * in.Floats(1)[p.column]);
  });
}

NodePtr Derive_rmsnorm_grad_x(const OpInstance& op, int, std::int64_t element) {
  const Position p = PositionOf(op, element);
  const Scaled g{.dy = 3, .gamma = 1, .first = p.first};
  const Normalised h{.rstd = 2, .cols = p.n};
  return std::make_unique<Finish>(MakeRowSum(ScaledDot{g, h}, p.n),
                                  std::vector{One(0, p.i), One(1, p.column), One(2, p.row), One(3, p.i)},
                                  [=](Value dot, Inputs in) {
                                    const float b = Float(dot) / p.count();
                                    return Bits(in.Floats(2)[p.row] * numerics::Fma(-h.Get(p.i, in), b, g.Get(p.column, in)));
                                  });
}

NodePtr Derive_rmsnorm_grad_gamma(const OpInstance& op, int, std::int64_t element) {
  const ops::MatrixView view = ops::LastAxisView(op.in[0]);
  return MakeColSum(ColumnDot{{.input = 2, .first = element, .stride = view.cols}, {.rstd = 1, .cols = view.cols}}, view.rows);
}

}  // namespace assay::ref::derive
