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

// o after a block of keys.
void AddByDigits(const Attention& a, std::int64_t b, std::int64_t i, std::int64_t h, std::int64_t first,
                 const std::vector<float>& p, float alpha, Range columns, std::vector<float>& o) {
  std::vector<float> weights;
  for (std::size_t k = 0; k < p.size(); ++k) {
    const std::int64_t j = first + static_cast<std::int64_t>(k);
    weights.push_back(a.Dropped(p[k], b, h, i, j) * a.ValueDigits(b, h, j).scales[0]);
  }
  WeightedRows rows(weights, a.digits);
  for (std::size_t k = 0; k < p.size(); ++k) rows.Add(a.ValueDigits(b, h, first + static_cast<std::int64_t>(k)));
  for (std::int64_t d = columns.begin; d < columns.end; ++d) {
    float& sum = o[static_cast<std::size_t>(d)];
    sum = rows.After(d, sum * alpha);
  }
}

void OutputRow(const Attention& a, std::int64_t b, std::int64_t i, std::int64_t h, Range columns, float* out) {
  std::vector<float> o(static_cast<std::size_t>(a.g.d), 0.0f);
  float l = 0.0f;
  a.Lse(b, h, i, l, [&](std::int64_t first, const std::vector<float>& p, float alpha) {
    if (a.digits != 0) return AddByDigits(a, b, i, h, first, p, alpha, columns, o);
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

// A row of digits and the weight that its block's scale makes of it.
struct Weighted {
  float weight;
  const DigitLine* row;
};

// out after positions `positions`, block by block. Of: Weighted(position).
template <class Of>
void AddBlocks(int digits, Range positions, Range columns, float* out, Of of) {
  for (std::int64_t begin = positions.begin; begin < positions.end;) {
    const std::int64_t end = std::min(positions.end, (begin / kKeyBlock + 1) * kKeyBlock);
    std::vector<Weighted> block;
    std::vector<float> weights;
    for (; begin < end; ++begin) {
      block.push_back(of(begin));
      weights.push_back(block.back().weight);
    }
    WeightedRows rows(weights, digits);
    for (const Weighted& one : block) rows.Add(*one.row);
    for (std::int64_t d = columns.begin; d < columns.end; ++d) out[d] = rows.After(d, out[d]);
  }
}

void QueryGradientRow(const Pairs& pairs, std::int64_t b, std::int64_t i, std::int64_t h, Range columns, float* out) {
  const Attention& a = pairs.a;
  const float delta = pairs.Delta(b, h, i);
  std::fill(out + columns.begin, out + columns.end, 0.0f);
  if (a.digits != 0) {
    return AddBlocks(a.digits, {0, a.g.Visible(i)}, columns, out, [&](std::int64_t j) {
      const DigitLine& key = a.KeyDigits(b, h, j);
      return Weighted{pairs.ScoreGradient(b, h, i, j, delta) * key.scales[0], &key};
    });
  }
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
    if (a.digits != 0) {
      AddBlocks(a.digits, {a.g.FirstQuery(j), a.g.tq}, columns, out, [&](std::int64_t i) {
        const DigitLine& row = of_value ? pairs.OutputGradientDigits(b, h, i) : a.QueryDigits(b, h, i);
        return Weighted{pairs.Weight(of_value, b, h, i, j) * row.scales[0], &row};
      });
      continue;
    }
    for (std::int64_t i = a.g.FirstQuery(j); i < a.g.tq; ++i) {
      const float weight = pairs.Weight(of_value, b, h, i, j);
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
