// How far attention and its gradients, computed with matrix products and row sums in binary64, can be from the truth.
//
// u = 2^-53; D = ContractionDepth(width) and S(n) = SumDepth(n) count additions (docs/ROUNDING.md, section 2); |x| of a row is its Euclidean norm. A hat marks what is
// computed. Every bound is a first-order one with its second-order terms kept or covered by kSlack; kFloor covers what is lost below the normal range of
// binary64, where errors are not relative: at most 2^34 terms, each short by 2^-1074 times a binary32.
//
// Scores. s_j = scale · q·k_j. With kappa = max |k_j| and a = |scale| · |q| · kappa >= |s_j|: the product is off by D·u·|q||k_j|, scaling rounds once, subtracting
// the shift c (the row's maximum, or its lse) rounds once more, off by at most u·(a + |c|). The argument of exp is therefore off by at most
//   x = u · ((D + 2) · a + |c|)
// and the weight p_j = exp(s_j - c) relatively by exp(x)·(1 + 2^-51) - 1 <= rho = (x + 2^-51)·(1 + 2x) for x <= 1. The shift by the computed maximum drops out
// of what follows: it is the same constant in numerator and denominator, and in lse.
//
// Forward. l = sum of p_j is relatively off by lambda = rho + S(n)·u, and o = N / l with N = sum of p'_j v_j, where p' = p, or p·keep with
// keep = 1 / (1 - dropout), three more roundings: rho' = rho + 3u. The weights' own errors change N by at most sum rho'·p'_j |v_j| <= rho' |p'| |v| (Cauchy and Schwarz, |v| the norm of the column over the
// visible keys), its summation by at most C·u·|p'||v| with C = ContractionDepth(n). From N^/l^ - N/l = (N^ - N)/l + N^·(l - l^)/(l·l^):
//   E_o   = (1 + lambda)·(r' + C·u)·|p'^|/l^ · |v| + (lambda + u)·|o^|,  r' = rho' / (1 - rho'), since |p'| <= |p'^| / (1 - rho')
//   E_lse = lambda / (1 - lambda) + 2^-51·|log l^| + u·|lse^|
//
// Gradients. p_j has c = lse, an input. g_j = keep·(do·v_j) - delta with delta = do·o is off by at most
//   gamma = u·|do|·((D + 4)·f·max|v_j| + (S(width) + 1)·|o|),  f the factor of what dropout keeps, or 1,
// and ds_j = p_j·g_j·scale, with r = rho / (1 - rho), by at most
//   e_j = (r + 2u)·|ds^_j| + |scale|·gamma·(1 + r)·p^_j.
// A query that sees one key has p = 1 but for its rounding and g small beside its two parts; there g is evaluated as do·(keep·v - o), whose terms are small themselves and lose two roundings of
// their own (kept_difference.h):
//   gamma = u·|do|·((S(width) + 4)·|keep·v - o| + 2·|keep·v|), the last term only where 1 - dropout is not exact.
// dq = sum of ds_j k_j: |k| the norm of the column over the visible keys, C = ContractionDepth(n),
//   E_dq = ((C·u + r + 2u)·|ds^| + |scale|·gamma·(1 + r)·|p^|) · |k|.
// dk and dv are sums over the queries i that see the key. A summation of terms t_i in depth C is off by at most C·u·sum |t_i|, hence with
//   f_i = (C·u + r_i + 2u)·|ds^_i| + |scale|·gamma_i·(1 + r_i)·p^_i   and   h_i = (C·u + r'_i)·p'^_i
//   E_dk = |f|·|q|,  E_dv = |h|·|do|,  |q| and |do| the norms of the columns over the queries.
// Pure; thread safe.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "assay/numerics/bounded.h"
#include "assay/ops/attention_geometry.h"

namespace assay::rounded {

// More than second-order terms need: a referee's E keeps terms that these bounds leave out, and whoever trains must not have a smaller one
// (docs/ROUNDING.md, section 4, on decisions that were left out).
inline constexpr double kSlack = 1 + 0x1p-6;
inline constexpr double kFloor = 0x1p-900;

// How the queries of a group are cut: evenly, no block longer than the contraction allows.
struct QueryBlocks {
  explicit QueryBlocks(const ops::AttentionGeometry& g) {
    const std::int64_t queries = g.group() * g.tq;
    const std::int64_t count = (g.tq - 1) / numerics::ContractionBlock(queries) + 1;
    rows = (g.tq - 1) / count + 1;
    depth = std::max(numerics::ContractionDepth(queries), static_cast<double>(rows + g.group() * count));
  }
  std::int64_t rows = 0;
  double depth = 0;  // of the contractions over queries, C of dk and dv
};

// The most additions that a term passes through in a sum over n keys, as the law counts them: those of any sum, and of a contraction where its blocks are longer than a sum's. A sum of one
// term is that term.
ASSAY_HD constexpr double KeysDepth(std::int64_t n) {
  if (n == 1) return 0;
  return n < 16384 ? numerics::SumDepth(n) : numerics::ContractionDepth(n);
}
// In one over the n queries of a group that see a key. The others add zeros, so that a term passes through n additions at most, however they are cut.
inline double QueriesDepth(const ops::AttentionGeometry& g, std::int64_t n) {
  if (n == 1) return 0;
  return std::max(numerics::SumDepth(n), std::min(static_cast<double>(n), QueryBlocks(g).depth));
}

// rho, from |scale|·|q|·kappa and the shift.
ASSAY_HD inline double WeightError(std::int64_t width, double largest_score, double shift) {
  const double x =
      numerics::kUnit * ((numerics::ContractionDepth(width) + 2) * largest_score + std::fabs(shift)) * kSlack + 0x1p-70;
  return x <= 1 ? (x + numerics::kFunction) * (1 + 2 * x) : std::numeric_limits<double>::infinity();
}

// rho / (1 - rho); infinite where rho says nothing.
ASSAY_HD inline double OfComputed(double rho) { return rho < 0.5 ? rho / (1 - rho) : std::numeric_limits<double>::infinity(); }

// rho' of a weight after dropout.
ASSAY_HD inline double Dropped(double rho, bool dropout) { return dropout ? rho + 3 * numerics::kUnit : rho; }

// A bound of zero is one of an exact result and stays.
ASSAY_HD inline double WithFloor(double e) { return e > 0 ? e + kFloor : e; }

// What the elements of a row of the forward pass have in common.
struct ForwardBound {
  double of_column = 0;  // times the norm of a column of v
  double of_value = 0;   // times |o|
  double lse = 0;        // without the part of its own rounding
};

// `weights` is the norm of the computed p', `sum` the computed l.
ASSAY_HD inline ForwardBound BoundForward(double rho, bool dropout, std::int64_t keys, double depth, double weights,
                                          double sum) {
  const double dropped = OfComputed(Dropped(rho, dropout));
  const double lambda = (rho + numerics::SumDepth(keys) * numerics::kUnit) * kSlack;
  return {.of_column = (1 + lambda) * (dropped + depth * numerics::kUnit) * weights / sum * kSlack,
          .of_value = (lambda + numerics::kUnit) * kSlack,
          .lse = OfComputed(lambda) * kSlack};
}

ASSAY_HD inline double BoundLse(const ForwardBound& bound, double log_sum, double lse) {
  return bound.lse + (numerics::kFunction * std::fabs(log_sum) + numerics::kUnit * std::fabs(lse)) * kSlack;
}

// The error of a score's gradient: of_gradient · |ds| + of_weight · p.
struct GradientBound {
  double of_gradient = 0, of_weight = 0;
};

// `gamma` over u·|do|.
ASSAY_HD inline GradientBound BoundGradient(double rho, double scale, double norm_do, double gamma) {
  const double r = OfComputed(rho);
  return {.of_gradient = (r + 2 * numerics::kUnit) * kSlack,
          .of_weight = std::fabs(scale) * numerics::kUnit * norm_do * gamma * (1 + r) * kSlack};
}

ASSAY_HD inline GradientBound BoundGradient(double rho, double scale, std::int64_t width, double keep_factor, double norm_do,
                                            double norm_o, double largest_v) {
  return BoundGradient(
      rho, scale, norm_do,
      (numerics::ContractionDepth(width) + 4) * keep_factor * largest_v + (numerics::SumDepth(width) + 1) * norm_o);
}

// Of a query that sees one key: the norms of keep·v - o and, where 1 - dropout is not exact, of keep·v.
ASSAY_HD inline GradientBound BoundOneKey(double rho, double scale, std::int64_t width, double norm_do, double difference,
                                          double kept) {
  return BoundGradient(rho, scale, norm_do, (numerics::SumDepth(width) + 4) * difference + 2 * kept);
}

}  // namespace assay::rounded
