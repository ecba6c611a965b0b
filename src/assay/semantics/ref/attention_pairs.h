// What attention, its gradients and their derivations share: the score of a query and a key, what dropout keeps of it, its probability and its
// gradient. Reads what it is asked for and nothing else. Pure; not thread safe, since rows that were cut into digits are kept.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "assay/numerics/fma.h"
#include "assay/numerics/functions.h"
#include "assay/numerics/random.h"
#include "assay/numerics/reduce.h"
#include "assay/ops/attention_geometry.h"
#include "assay/ops/digits.h"
#include "assay/semantics/kernel_args.h"
#include "assay/semantics/ref/attention_digits.h"

namespace assay::ref {

inline constexpr std::int64_t kKeyBlock = 64;

inline float DotChain(const float* a, const float* b, std::int64_t n) {
  float sum = 0.0f;
  for (std::int64_t k = 0; k < n; ++k) sum = numerics::Fma(a[k], b[k], sum);
  return sum;
}

class Attention {
 public:
  Attention(const KernelArgs& args, std::size_t rng)
      : g(ops::GeometryOfAttention(args.attrs(), args.in_type(0).shape, args.in_type(1).shape)),
        digits(ops::DigitsOf(*args.op)),
        q_(args.In<float>(0)),
        k_(args.In<float>(1)),
        v_(args.In<float>(2)),
        rng_(args.In<std::uint32_t>(rng)),
        q_rows_(q_, g.d, digits),
        k_rows_(k_, g.d, digits),
        v_rows_(v_, g.d, digits) {}

  const ops::AttentionGeometry g;
  const int digits;  // 0: none

  float Score(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    const float product =
        digits == 0 ? DotChain(Query(b, h, i), Key(b, h, j), g.d) : DigitDot(QueryDigits(b, h, i), KeyDigits(b, h, j));
    return product * g.scale;
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
  // The same rows as digits.
  const DigitLine& QueryDigits(std::int64_t b, std::int64_t h, std::int64_t i) const { return q_rows_.At(g.QueryRow(b, i, h)); }
  const DigitLine& KeyDigits(std::int64_t b, std::int64_t h, std::int64_t j) const {
    return k_rows_.At(g.KeyRow(b, j, g.KeyHead(h)));
  }
  const DigitLine& ValueDigits(std::int64_t b, std::int64_t h, std::int64_t j) const {
    return v_rows_.At(g.KeyRow(b, j, g.KeyHead(h)));
  }

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
      const float alpha = numerics::Exp<numerics::Scalar>(m - n);
      for (float& s : p) s = numerics::Exp<numerics::Scalar>(s - n);
      const float sum =
          numerics::RowSum(static_cast<std::int64_t>(p.size()), [&](std::int64_t j) { return p[static_cast<std::size_t>(j)]; });
      l = numerics::Fma(l, alpha, sum);
      block(first, p, alpha);
      m = n;
    }
    return m + numerics::Log<numerics::Scalar>(l);
  }

 private:
  const float* q_;
  const float* k_;
  const float* v_;
  const std::uint32_t* rng_;
  mutable DigitRows q_rows_, k_rows_, v_rows_;
};

// What the gradients share: the probability of a pair and the gradient of its score.
class Pairs {
 public:
  explicit Pairs(const KernelArgs& args)
      : a(args, 6), o_(args.In<float>(3)), lse_(args.In<float>(4)), do_(args.In<float>(5)), do_rows_(do_, a.g.d, a.digits) {}

  const Attention a;

  const float* OutputGradient(std::int64_t b, std::int64_t h, std::int64_t i) const { return do_ + a.g.QueryRow(b, i, h); }
  const DigitLine& OutputGradientDigits(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return do_rows_.At(a.g.QueryRow(b, i, h));
  }
  float Delta(std::int64_t b, std::int64_t h, std::int64_t i) const {
    const float* x = OutputGradient(b, h, i);
    const float* y = o_ + a.g.QueryRow(b, i, h);
    return numerics::RowDot(a.g.d, [&](std::int64_t d) { return x[d]; }, [&](std::int64_t d) { return y[d]; });
  }
  float Probability(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return numerics::Exp<numerics::Scalar>(a.Score(b, h, i, j) - lse_[a.g.Lse(b, h, i)]);
  }
  float ScoreGradient(std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, float delta) const {
    const float product = a.digits == 0 ? DotChain(OutputGradient(b, h, i), a.Value(b, h, j), a.g.d)
                                        : DigitDot(OutputGradientDigits(b, h, i), a.ValueDigits(b, h, j));
    const float dp = a.Dropped(product, b, h, i, j);
    return (Probability(b, h, i, j) * (dp - delta)) * a.g.scale;
  }
  // What dv multiplies do by, and dk q.
  float Weight(bool of_value, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) const {
    return of_value ? a.Dropped(Probability(b, h, i, j), b, h, i, j) : ScoreGradient(b, h, i, j, Delta(b, h, i));
  }

 private:
  const float* o_;
  const float* lse_;
  const float* do_;
  mutable DigitRows do_rows_;
};

}  // namespace assay::ref
