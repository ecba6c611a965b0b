// attention and attention_grad, one row at a time: a row of o or dq belongs to one query, a row of dk or dv to one key.
//
// What is subtracted before exp is any number near the greatest score: the value that is sought does not depend on it, so it counts as exact.
#include <limits>
#include <vector>

#include "assay/numerics/random.h"
#include "assay/ops/attention_geometry.h"
#include "assay/semantics/rounded/attention_bounds.h"
#include "assay/semantics/rounded/column_sum.h"
#include "assay/semantics/rounded/formula_loops.h"
#include "assay/semantics/rounded/kept_difference.h"

namespace assay::rounded {
namespace {

double ValueOf(double x) { return x; }
template <class V>
double ValueOf(const numerics::Bounded<V>& x) {
  return numerics::ToDouble(x.v);
}

// One query of one head: (batch, head, time).
struct Query {
  std::int64_t b, h, i;
};

template <class T>
struct Attention {
  Attention(const KernelArgs& args, std::size_t rng)
      : g(ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape)),
        q(args.In<float>(0)),
        k(args.In<float>(1)),
        v(args.In<float>(2)),
        key(numerics::MakeDrawKey(args.In<std::uint32_t>(rng), g.stream)),
        factor(T(1.0f) / (T(1.0f) - T(g.dropout))) {}

  T Dot(const float* a, const float* b) const {
    return Contract<T>(g.d, [&](std::int64_t c) { return a[c]; }, [&](std::int64_t c) { return b[c]; });
  }
  const float* QueryRow(const Query& at) const { return q + g.QueryRow(at.b, at.i, at.h); }
  const float* KeyRow(const Query& at, std::int64_t j) const { return k + g.KeyRow(at.b, j, g.KeyHead(at.h)); }
  const float* ValueRow(const Query& at, std::int64_t j) const { return v + g.KeyRow(at.b, j, g.KeyHead(at.h)); }
  T Score(const Query& at, std::int64_t j) const { return Dot(QueryRow(at), KeyRow(at, j)) * T(g.scale); }
  T Dropped(const T& x, const Query& at, std::int64_t j) const {
    if (!(g.dropout > 0)) return x;
    return Keeps(at, j) ? x * factor : x * T(0.0f);
  }
  bool Keeps(const Query& at, std::int64_t j) const {
    return !(g.dropout > 0) || numerics::DrawU32(key, g.Element(at.b, at.h, at.i, j)) >= numerics::DropoutThreshold(g.dropout);
  }

  const ops::AttentionGeometry g;
  const float *q, *k, *v;
  const numerics::DrawKey key;
  const T factor;
};

// The weights of the keys that a query sees, not yet divided by their sum.
template <class T>
struct Weights {
  Weights(const Attention<T>& a, const Query& at) {
    double m = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < a.g.Visible(at.i); ++j) {
      p.push_back(a.Score(at, j));
      const double s = ValueOf(p.back());
      m = s > m || s != s ? s : m;
    }
    largest = T(m);
    for (T& s : p) s = Exp(s - largest);
    sum = Sum<T>(static_cast<std::int64_t>(p.size()), [&](std::int64_t j) { return p[static_cast<std::size_t>(j)]; });
  }

  std::vector<T> p;
  T largest, sum;
};

template <class T>
struct Gradients {
  explicit Gradients(const KernelArgs& args)
      : a(args, 6), o(args.In<float>(3)), lse(args.In<float>(4)), grad(args.In<float>(5)) {}

  const float* GradRow(const Query& at) const { return grad + a.g.QueryRow(at.b, at.i, at.h); }
  T Delta(const Query& at) const {
    const float *x = GradRow(at), *y = o + a.g.QueryRow(at.b, at.i, at.h);
    return Sum<T>(a.g.d, [&](std::int64_t c) { return T(x[c]) * T(y[c]); });
  }
  T Probability(const Query& at, std::int64_t j) const { return Exp(a.Score(at, j) - T(lse[a.g.Lse(at.b, at.h, at.i)])); }
  T OfScore(const Query& at, std::int64_t j, const T& delta) const {
    if (a.g.Visible(at.i) == 1) return Probability(at, j) * OneKey(at) * T(a.g.scale);
    const T dp = a.Dropped(a.Dot(GradRow(at), a.ValueRow(at, j)), at, j);
    return Probability(at, j) * (dp - delta) * T(a.g.scale);
  }

  // dp - delta of a query that sees one key, where the two nearly cancel.
  T OneKey(const Query& at) const {
    const float *x = GradRow(at), *y = o + a.g.QueryRow(at.b, at.i, at.h), *v = a.ValueRow(at, 0);
    const bool kept = a.Keeps(at, 0);
    const KeptDifference of(a.g.dropout);
    return Sum<T>(a.g.d, [&](std::int64_t c) { return T(x[c]) * (kept ? of.Of<T>(v[c], y[c]) : T(v[c]) * T(0.0f) - T(y[c])); });
  }

  const Attention<T> a;
  const float *o, *lse, *grad;
};

// Sums of binary32 rows by weights.
template <class T>
struct WeightedRows {
  void Add(const T& weight, const float* row) {
    weights.push_back(weight);
    rows.push_back(row);
  }
  void SumInto(Range columns, double depth, T* out) const {
    const auto term = [&](std::int64_t k, std::int64_t c) {
      return weights[static_cast<std::size_t>(k)] * T(rows[static_cast<std::size_t>(k)][c]);
    };
    ColumnSums(count(), columns, depth, term, out);
  }

  std::int64_t count() const { return static_cast<std::int64_t>(rows.size()); }

  std::vector<T> weights;
  std::vector<const float*> rows;
};

template <class T>
void OutputRow(const Attention<T>& a, const Query& at, Range columns, T* out) {
  const Weights<T> weights(a, at);
  WeightedRows<T> values;
  for (std::int64_t j = 0; j < a.g.Visible(at.i); ++j) {
    values.Add(a.Dropped(weights.p[static_cast<std::size_t>(j)], at, j), a.ValueRow(at, j));
  }
  values.SumInto(columns, KeysDepth(values.count()), out);
  for (std::int64_t c = 0; c < columns.size(); ++c) out[c] = out[c] / weights.sum;
}

template <class T>
void QueryGradientRow(const Gradients<T>& gradients, const Query& at, Range columns, T* out) {
  const Attention<T>& a = gradients.a;
  const T delta = gradients.Delta(at);
  WeightedRows<T> keys;
  for (std::int64_t j = 0; j < a.g.Visible(at.i); ++j) keys.Add(gradients.OfScore(at, j, delta), a.KeyRow(at, j));
  keys.SumInto(columns, KeysDepth(keys.count()), out);
}

template <class T>
void KeyGradientRow(const Gradients<T>& gradients, bool of_value, std::int64_t b, std::int64_t j, std::int64_t key_head,
                    Range columns, T* out) {
  const Attention<T>& a = gradients.a;
  WeightedRows<T> queries;
  for (std::int64_t h = key_head * a.g.group(); h < (key_head + 1) * a.g.group(); ++h) {
    for (std::int64_t i = a.g.FirstQuery(j); i < a.g.tq; ++i) {
      const Query at{b, h, i};
      if (of_value) {
        queries.Add(a.Dropped(gradients.Probability(at, j), at, j), gradients.GradRow(at));
      } else {
        queries.Add(gradients.OfScore(at, j, gradients.Delta(at)), a.QueryRow(at));
      }
    }
  }
  queries.SumInto(columns, QueriesDepth(a.g, queries.count()), out);
}

}  // namespace

template <class T>
void Formula_attention(const KernelArgs& args, int output, Range range, T* out) {
  const Attention<T> a(args, 3);
  const ops::AttentionGeometry& g = a.g;
  if (output == 0) {
    ForEachRow(range, g.d, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* o) {
      OutputRow(a, {row / (g.hq * g.tq), row % g.hq, row / g.hq % g.tq}, {begin, end}, o);
    });
    return;
  }
  for (std::int64_t e = range.begin; e < range.end; ++e) {
    const Weights<T> weights(a, {e / (g.tq * g.hq), e / g.tq % g.hq, e % g.tq});
    out[e - range.begin] = weights.largest + Log(weights.sum);
  }
}

template <class T>
void Formula_attention_grad(const KernelArgs& args, int output, Range range, T* out) {
  const Gradients<T> gradients(args);
  const ops::AttentionGeometry& g = gradients.a.g;
  ForEachRow(range, g.d, out, [&](std::int64_t row, std::int64_t begin, std::int64_t end, T* d) {
    if (output == 0) {
      QueryGradientRow(gradients, {row / (g.hq * g.tq), row % g.hq, row / g.hq % g.tq}, {begin, end}, d);
    } else {
      KeyGradientRow(gradients, output == 2, row / (g.hkv * g.tk), row / g.hkv % g.tk, row % g.hkv, {begin, end}, d);
    }
  });
}

ASSAY_FORMULA(attention);
ASSAY_FORMULA(attention_grad);

}  // namespace assay::rounded
