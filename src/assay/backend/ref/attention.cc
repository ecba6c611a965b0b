// attention and attention_grad, one row at a time: a row of o or dq belongs to one query, a row of dk or dv to one key. The order inside a
// row is docs/NUMERICS.md's; nothing is shared between rows, so that a row needs only what it depends on.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/backend/ref/ref.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/random.h"
#include "assay/numerics/reduce.h"
#include "assay/ops/attention_geometry.h"

namespace assay::ref {
namespace {

using numerics::Scalar;

constexpr std::int64_t kKeyBlock = 64;

float Chain(const float* a, const float* b, std::int64_t n) {
  float sum = 0.0f;
  for (std::int64_t k = 0; k < n; ++k) sum = std::fma(a[k], b[k], sum);
  return sum;
}

class Attention {
 public:
  Attention(const KernelArgs& args, std::size_t rng)
      : g(ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape)),
        q_(args.In<float>(0)),
        k_(args.In<float>(1)),
        v_(args.In<float>(2)),
        rng_(args.In<std::uint32_t>(rng)) {}

  const ops::AttentionGeometry g;

  float Score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return Chain(q_ + g.QueryRow(b, i, h), Key(b, h, j), g.d) * g.scale;
  }
  // What dropout multiplies a probability by.
  float Keep(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const std::uint32_t draw = numerics::DrawU32(numerics::MakeDrawKey(rng_, g.stream), g.Element(b, h, i, j));
    return draw >= numerics::DropoutThreshold(g.dropout) ? numerics::DropoutFactor(g.dropout) : 0.0f;
  }
  float Dropped(float x, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return g.dropout > 0 ? x * Keep(b, h, i, j) : x;
  }
  const float* Query(std::int64_t b, std::int64_t h, std::int64_t i) const { return q_ + g.QueryRow(b, i, h); }
  const float* Key(std::int64_t b, std::int64_t h, std::int64_t j) const { return k_ + g.KeyRow(b, j, g.KeyHead(h)); }
  const float* Value(std::int64_t b, std::int64_t h, std::int64_t j) const { return v_ + g.KeyRow(b, j, g.KeyHead(h)); }

  // The running maximum and sum of one query; calls block(first key, probabilities, alpha) for each block of keys.
  template <class F>
  float Lse(std::int64_t b, std::int64_t h, std::int64_t i, float& l, F block) const {
    float m = -std::numeric_limits<float>::infinity();
    l = 0.0f;
    for (std::int64_t first = 0; first < g.Visible(i); first += kKeyBlock) {
      std::vector<float> p;
      for (std::int64_t j = first; j < std::min(first + kKeyBlock, g.Visible(i)); ++j) p.push_back(Score(b, h, i, j));
      float n = m;
      for (float s : p) n = s > n ? s : (s != s ? s : n);
      const float alpha = numerics::Exp<Scalar>(m - n);
      for (float& s : p) s = numerics::Exp<Scalar>(s - n);
      const float sum =
          numerics::RowSum(static_cast<std::int64_t>(p.size()), [&](std::int64_t j) { return p[static_cast<std::size_t>(j)]; });
      l = std::fma(l, alpha, sum);
      block(first, p, alpha);
      m = n;
    }
    return m + numerics::Log<Scalar>(l);
  }

 private:
  const float* q_;
  const float* k_;
  const float* v_;
  const std::uint32_t* rng_;
};

// Calls row(b, t, h, columns) for each row of a tensor [batch, time, heads, d] that `range` touches, `columns` being the part inside it.
template <class F>
void ForEachRow(Range range, std::int64_t time, std::int64_t heads, std::int64_t d, F row) {
  for (std::int64_t i = range.begin; i < range.end;) {
    const std::int64_t r = i / d;
    const std::int64_t end = std::min(range.end, (r + 1) * d);
    row(r / (heads * time), r / heads % time, r % heads, Range{i - r * d, end - r * d});
    i = end;
  }
}

void OutputRow(const Attention& a, std::int64_t b, std::int64_t i, std::int64_t h, Range columns, float* out) {
  std::vector<float> o(static_cast<std::size_t>(a.g.d), 0.0f);
  float l = 0.0f;
  a.Lse(b, h, i, l, [&](std::int64_t first, const std::vector<float>& p, float alpha) {
    for (std::int64_t d = columns.begin; d < columns.end; ++d) {
      float& sum = o[static_cast<std::size_t>(d)];
      sum = sum * alpha;
      for (std::size_t k = 0; k < p.size(); ++k) {
        const std::int64_t j = first + static_cast<std::int64_t>(k);
        sum = std::fma(a.Dropped(p[k], b, h, i, j), a.Value(b, h, j)[d], sum);
      }
    }
  });
  for (std::int64_t d = columns.begin; d < columns.end; ++d) out[d] = o[static_cast<std::size_t>(d)] / l;
}

// What the gradients share: the probability of a pair and the gradient of its score.
class Pairs {
 public:
  explicit Pairs(const KernelArgs& args) : a(args, 6), o_(args.In<float>(3)), lse_(args.In<float>(4)), do_(args.In<float>(5)) {}

  const Attention a;

  const float* OutputGradient(std::int64_t b, std::int64_t h, std::int64_t i) const { return do_ + a.g.QueryRow(b, i, h); }
  float Delta(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const float* x = OutputGradient(b, h, i);
    const float* y = o_ + a.g.QueryRow(b, i, h);
    return numerics::RowDot(a.g.d, [&](std::int64_t d) { return x[d]; }, [&](std::int64_t d) { return y[d]; });
  }
  float Probability(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return numerics::Exp<Scalar>(a.Score(b, h, i, j) - lse_[a.g.Lse(b, h, i)]);
  }
  float ScoreGradient(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, float delta) const {
    const float dp = a.Dropped(Chain(OutputGradient(b, h, i), a.Value(b, h, j), a.g.d), b, h, i, j);
    return (Probability(b, h, i, j) * (dp - delta)) * a.g.scale;
  }

 private:
  const float* o_;
  const float* lse_;
  const float* do_;
};

void QueryGradientRow(const Pairs& pairs, std::int64_t b, std::int64_t i, std::int64_t h, Range columns, float* out) {
  const Attention& a = pairs.a;
  const float delta = pairs.Delta(b, h, i);
  std::fill(out + columns.begin, out + columns.end, 0.0f);
  for (std::int64_t j = 0; j < a.g.Visible(i); ++j) {
    const float ds = pairs.ScoreGradient(b, h, i, j, delta);
    for (std::int64_t d = columns.begin; d < columns.end; ++d) out[d] = std::fma(ds, a.Key(b, h, j)[d], out[d]);
  }
}

void KeyGradientRow(const Pairs& pairs, bool of_value, std::int64_t b, std::int64_t j, std::int64_t key_head, Range columns,
                    float* out) {
  const Attention& a = pairs.a;
  std::fill(out + columns.begin, out + columns.end, 0.0f);
  for (std::int64_t h = key_head * a.g.group(); h < (key_head + 1) * a.g.group(); ++h) {
    for (std::int64_t i = a.g.FirstQuery(j); i < a.g.tq; ++i) {
      const float weight = of_value ? a.Dropped(pairs.Probability(b, h, i, j), b, h, i, j)
                                    : pairs.ScoreGradient(b, h, i, j, pairs.Delta(b, h, i));
      const float* row = of_value ? pairs.OutputGradient(b, h, i) : a.Query(b, h, i);
      for (std::int64_t d = columns.begin; d < columns.end; ++d) out[d] = std::fma(weight, row[d], out[d]);
    }
  }
}

}  // namespace

void Ref_attention(const KernelArgs& args, int output, Range range) {
  const Attention a(args, 3);
  const ops::AttentionGeometry& g = a.g;
  if (output == 0) {
    ForEachRow(range, g.tq, g.hq, g.d, [&](std::int64_t b, std::int64_t i, std::int64_t h, Range columns) {
      OutputRow(a, b, i, h, columns, args.Out<float>(0) + g.QueryRow(b, i, h));
    });
    return;
  }
  for (std::int64_t e = range.begin; e < range.end; ++e) {
    float l = 0.0f;
    args.Out<float>(1)[e] =
        a.Lse(e / (g.tq * g.hq), e / g.tq % g.hq, e % g.tq, l, [](std::int64_t, const std::vector<float>&, float) {});
  }
}

void Ref_attention_grad(const KernelArgs& args, int output, Range range) {
  const Pairs pairs(args);
  const ops::AttentionGeometry& g = pairs.a.g;
  float* out = args.Out<float>(static_cast<std::size_t>(output));
  if (output == 0) {
    ForEachRow(range, g.tq, g.hq, g.d, [&](std::int64_t b, std::int64_t i, std::int64_t h, Range columns) {
      QueryGradientRow(pairs, b, i, h, columns, out + g.QueryRow(b, i, h));
    });
  } else {
    ForEachRow(range, g.tk, g.hkv, g.d, [&](std::int64_t b, std::int64_t j, std::int64_t h, Range columns) {
      KeyGradientRow(pairs, output == 2, b, j, h, columns, out + g.KeyRow(b, j, h));
    });
  }
}

}  // namespace assay::ref
