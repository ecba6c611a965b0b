// attention and attention_grad, one row at a time: a row of o or dq belongs to one query, a row of dk or dv to one key. The order inside a
// row is docs/NUMERICS.md's; nothing is shared between rows, so that a row needs only what it depends on.
#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/numerics/fma.h"
#include "assay/semantics/ref/attention_pairs.h"
#include "assay/semantics/ref/ref.h"

namespace assay::ref {
namespace {

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
        sum = numerics::Fma(a.Dropped(p[k], b, h, i, j), a.Value(b, h, j)[d], sum);
      }
    }
  });
  for (std::int64_t d = columns.begin; d < columns.end; ++d) out[d] = o[static_cast<std::size_t>(d)] / l;
}

void QueryGradientRow(const Pairs& pairs, std::int64_t b, std::int64_t i, std::int64_t h, Range columns, float* out) {
  const Attention& a = pairs.a;
  const float delta = pairs.Delta(b, h, i);
  std::fill(out + columns.begin, out + columns.end, 0.0f);
  for (std::int64_t j = 0; j < a.g.Visible(i); ++j) {
    const float ds = pairs.ScoreGradient(b, h, i, j, delta);
    for (std::int64_t d = columns.begin; d < columns.end; ++d) out[d] = numerics::Fma(ds, a.Key(b, h, j)[d], out[d]);
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
      for (std::int64_t d = columns.begin; d < columns.end; ++d) out[d] = numerics::Fma(weight, row[d], out[d]);
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
