#include "oracle/oracle.h"

namespace assay::oracle {

Arrays Oracle_embedding(const Call& c) {
  const std::int64_t rows = c.shape(0)[0], width = c.shape(0)[1];
  Array out;
  for (double id : c[1]) {
    const auto row = static_cast<std::int64_t>(id);
    for (std::int64_t k = 0; k < width; ++k) out.push_back(row < 0 || row >= rows ? kNan : c[0][Index(row * width + k)]);
  }
  return {out};
}

// (ids, dy)
Arrays Oracle_embedding_grad(const Call& c) {
  const std::int64_t rows = c.out_shape(0)[0], width = c.out_shape(0)[1];
  Array out = c.Zeros(0);
  for (std::size_t p = 0; p < c[0].size(); ++p) {
    const auto row = static_cast<std::int64_t>(c[0][p]);
    if (row < 0 || row >= rows) continue;
    for (std::int64_t k = 0; k < width; ++k) out[Index(row * width + k)] += c[1][p * Index(width) + Index(k)];
  }
  return {out};
}

Arrays Oracle_rope(const Call& c) {
  const Shape& s = c.shape(0);
  const std::int64_t half = s[3] / 2;
  Array out = c.Zeros(0);
  for (std::int64_t row = 0; row < s[0] * s[1] * s[2]; ++row) {
    const std::int64_t position = c.Int(1) + row / s[2] % s[1];
    for (std::int64_t j = 0; j < half; ++j) {
      double angle =
          static_cast<double>(position) * std::pow(c.Float(0), -2.0 * static_cast<double>(j) / static_cast<double>(s[3]));
      if (c.Int(2) != 0) angle = -angle;
      const std::size_t a = Index(row * s[3] + j), b = Index(row * s[3] + j + half);
      out[a] = c[0][a] * std::cos(angle) - c[0][b] * std::sin(angle);
      out[b] = c[0][b] * std::cos(angle) + c[0][a] * std::sin(angle);
    }
  }
  return {out};
}

namespace {

// The probabilities of one query, with the factor that dropout gives each.
struct AttentionRow {
  Array p, keep;
  double lse = 0;
};

struct Geometry {
  const Call& c;
  std::int64_t batches, tq, hq, d, tk, hkv;
  bool causal;
  double scale, dropout;
  const Array& rng;

  Geometry(const Call& call, const Array& rng_input)
      : c(call),
        batches(call.shape(0)[0]),
        tq(call.shape(0)[1]),
        hq(call.shape(0)[2]),
        d(call.shape(0)[3]),
        tk(call.shape(1)[1]),
        hkv(call.shape(1)[2]),
        causal(call.Int(0) != 0),
        scale(call.Float(1)),
        dropout(call.Float(2)),
        rng(rng_input) {}

  std::size_t Q(std::int64_t b, std::int64_t i, std::int64_t h) const { return Index(((b * tq + i) * hq + h) * d); }
  std::size_t K(std::int64_t b, std::int64_t j, std::int64_t h) const {
    return Index(((b * tk + j) * hkv + h / (hq / hkv)) * d);
  }
  std::size_t Lse(std::int64_t b, std::int64_t i, std::int64_t h) const { return Index((b * hq + h) * tq + i); }

  double Dot(const Array& a, std::size_t a0, const Array& b, std::size_t b0) const {
    double sum = 0;
    for (std::size_t k = 0; k < Index(d); ++k) sum += a[a0 + k] * b[b0 + k];
    return sum;
  }

  AttentionRow Row(std::int64_t b, std::int64_t i, std::int64_t h) const {
    AttentionRow row;
    double sum = 0;
    for (std::int64_t j = 0; j < tk; ++j) {
      const bool visible = !causal || j <= i + tk - tq;
      const double e = visible ? std::exp(Dot(c[0], Q(b, i, h), c[1], K(b, j, h)) * scale) : 0;
      row.p.push_back(e);
      sum += e;
      const bool kept = dropout == 0 || Keeps(rng, dropout, c.Int(3), ((b * hq + h) * tq + i) * tk + j);
      row.keep.push_back(kept ? 1 / (1 - dropout) : 0);
    }
    for (double& p : row.p) p /= sum;
    row.lse = std::log(sum);
    return row;
  }

  template <class F>
  void ForEachQuery(F f) const {
    for (std::int64_t b = 0; b < batches; ++b) {
      for (std::int64_t h = 0; h < hq; ++h) {
        for (std::int64_t i = 0; i < tq; ++i) f(b, i, h);
      }
    }
  }
};

}  // namespace

// (q, k, v, rng)
Arrays Oracle_attention(const Call& c) {
  const Geometry g(c, c[3]);
  Array o = c.Zeros(0), lse = c.Zeros(1);
  g.ForEachQuery([&](std::int64_t b, std::int64_t i, std::int64_t h) {
    const AttentionRow row = g.Row(b, i, h);
    lse[g.Lse(b, i, h)] = row.lse;
    for (std::int64_t j = 0; j < g.tk; ++j) {
      for (std::size_t k = 0; k < Index(g.d); ++k) {
        o[g.Q(b, i, h) + k] += row.p[Index(j)] * row.keep[Index(j)] * c[2][g.K(b, j, h) + k];
      }
    }
  });
  return {o, lse};
}

// (q, k, v, o, lse, do, rng). Uses the o and lse it is given, as the op does.
Arrays Oracle_attention_grad(const Call& c) {
  const Geometry g(c, c[6]);
  Array dq = c.Zeros(0), dk = c.Zeros(1), dv = c.Zeros(2);
  g.ForEachQuery([&](std::int64_t b, std::int64_t i, std::int64_t h) {
    const std::size_t q0 = g.Q(b, i, h);
    const AttentionRow row = g.Row(b, i, h);
    const double delta = g.Dot(c[5], q0, c[3], q0);
    for (std::int64_t j = 0; j < g.tk; ++j) {
      const std::size_t k0 = g.K(b, j, h);
      // exp(s - lse) with the given lse: the row's own probability, corrected.
      const double p = row.p[Index(j)] * std::exp(row.lse - c[4][g.Lse(b, i, h)]);
      const double keep = row.keep[Index(j)];
      const double ds = p * (g.Dot(c[5], q0, c[2], k0) * keep - delta) * g.scale;
      for (std::size_t k = 0; k < Index(g.d); ++k) {
        dq[q0 + k] += ds * c[1][k0 + k];
        dk[k0 + k] += ds * c[0][q0 + k];
        dv[k0 + k] += p * keep * c[5][q0 + k];
      }
    }
  });
  return {dq, dk, dv};
}

}  // namespace assay::oracle
