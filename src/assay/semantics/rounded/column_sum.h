// Sums down the columns of a matrix, with the rows outside and a piece of the columns inside: blocks of 128 rows, blocks of 128 such sums, and so on, as
// docs/ROUNDING.md, section 2, wants sums to be. A column's sum does not depend on the others. Pure; thread safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "assay/semantics/rounded/formula.h"

namespace assay::rounded {

// A sum of terms of type T, and what is needed for its bound.
template <class T>
struct Accumulator;

template <>
struct Accumulator<double> {
  double v = 0;

  ASSAY_HD void Add(double term) { v += term; }
  ASSAY_HD Accumulator& operator+=(const Accumulator& sum) {
    v += sum.v;
    return *this;
  }
  ASSAY_HD double Total(double) const { return v; }
};

template <class V>
struct Accumulator<numerics::Bounded<V>> {
  V v{};
  double e = 0;          // of the terms
  double magnitude = 0;  // of the terms
  double quantum = std::numeric_limits<double>::infinity();

  ASSAY_HD void Add(const numerics::Bounded<V>& term) {
    v = v + term.v;
    e += term.e;
    magnitude += term.magnitude();
    quantum = Least(quantum, numerics::QuantumOf(term));
  }
  ASSAY_HD Accumulator& operator+=(const Accumulator& sum) {
    v = v + sum.v;
    e += sum.e;
    magnitude += sum.magnitude;
    quantum = Least(quantum, sum.quantum);
    return *this;
  }
  ASSAY_HD numerics::Bounded<V> Total(double depth) const { return {v, numerics::SumError(depth, e, magnitude, quantum)}; }

 private:
  ASSAY_HD static double Least(double a, double b) { return b < a ? b : a; }
};

// Of a sum down `rows` rows, as Total takes it. A sum of one term is that term.
ASSAY_HD constexpr double ColumnDepth(std::int64_t rows) { return rows == 1 ? 0.0 : numerics::SumDepth(rows); }

inline constexpr std::int64_t kSumBlock = 128;
inline constexpr std::int64_t kColumnPiece = 64;

// Adds rows `rows`, at most kSumBlock * stride of them, to sums of `width` columns from `first` on.
template <class T, class Term>
void AddRows(Range rows, std::int64_t stride, std::int64_t first, std::int64_t width, const Term& term, Accumulator<T>* sums) {
  if (stride == 1) {
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      for (std::int64_t c = 0; c < width; ++c) sums[c].Add(term(r, first + c));
    }
    return;
  }
  for (std::int64_t r = rows.begin; r < rows.end; r += stride) {
    std::array<Accumulator<T>, kColumnPiece> block{};
    AddRows<T>({r, std::min(r + stride, rows.end)}, stride / kSumBlock, first, width, term, block.data());
    for (std::int64_t c = 0; c < width; ++c) sums[c] += block[static_cast<std::size_t>(c)];
  }
}

// out[c - columns.begin] = the sum over rows r of term(r, c), which gives T. Bounds are those of sums in which no term passes through more than `depth` additions.
template <class T, class Term>
void ColumnSums(std::int64_t rows, Range columns, double depth, const Term& term, T* out) {
  std::int64_t stride = 1;
  while (stride * kSumBlock < rows) stride *= kSumBlock;
  for (std::int64_t first = columns.begin; first < columns.end; first += kColumnPiece) {
    const std::int64_t width = std::min(kColumnPiece, columns.end - first);
    std::array<Accumulator<T>, kColumnPiece> sums{};
    AddRows<T>({0, rows}, stride, first, width, term, sums.data());
    for (std::int64_t c = 0; c < width; ++c) out[first - columns.begin + c] = sums[static_cast<std::size_t>(c)].Total(depth);
  }
}

template <class T, class Term>
void ColumnSums(std::int64_t rows, Range columns, const Term& term, T* out) {
  ColumnSums(rows, columns, ColumnDepth(rows), term, out);
}

// Where the errors of terms follow from their sizes two sums make up a bound: of the terms v, and of something w >= 0 that each has. Sums are taken in the order of ColumnSums.
struct Pair {
  double v = 0, w = 0;
};

struct PairSums {
  PairSums() { least.fill(std::numeric_limits<double>::infinity()); }
  std::array<double, kColumnPiece> v{}, w{};
  std::array<double, kColumnPiece> least;  // w above zero, where it is asked for
};

template <bool with_least, class Term>
void AddPairRow(std::int64_t r, std::int64_t first, std::int64_t width, const Term& term, double* __restrict v,
                double* __restrict w, double* __restrict least) {
  for (std::int64_t c = 0; c < width; ++c) {
    const Pair pair = term(r, first + c);
    v[c] += pair.v;
    w[c] += pair.w;
    if (with_least) {
      const double size = pair.w > 0 ? pair.w : std::numeric_limits<double>::infinity();
      least[c] = size < least[c] ? size : least[c];
    }
  }
}

template <bool with_least, class Term>
void AddPairRows(Range rows, std::int64_t stride, std::int64_t first, std::int64_t width, const Term& term, PairSums& sums) {
  for (std::int64_t r = rows.begin; r < rows.end; r += stride) {
    if (stride == 1) {
      AddPairRow<with_least>(r, first, width, term, sums.v.data(), sums.w.data(), sums.least.data());
      continue;
    }
    PairSums block;
    AddPairRows<with_least>({r, std::min(r + stride, rows.end)}, stride / kSumBlock, first, width, term, block);
    for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c) {
      sums.v[c] += block.v[c];
      sums.w[c] += block.w[c];
      sums.least[c] = std::min(sums.least[c], block.least[c]);
    }
  }
}

// Calls done(c, pair, least) with the sums over rows of term(r, c), a Pair.
template <bool with_least, class Term, class Done>
void ColumnPairs(std::int64_t rows, Range columns, const Term& term, const Done& done) {
  std::int64_t stride = 1;
  while (stride * kSumBlock < rows) stride *= kSumBlock;
  for (std::int64_t first = columns.begin; first < columns.end; first += kColumnPiece) {
    const std::int64_t width = std::min(kColumnPiece, columns.end - first);
    PairSums sums;
    AddPairRows<with_least>({0, rows}, stride, first, width, term, sums);
    for (std::int64_t c = 0; c < width; ++c) {
      const auto at = static_cast<std::size_t>(c);
      done(first + c, Pair{sums.v[at], sums.w[at]}, sums.least[at]);
    }
  }
}

}  // namespace assay::rounded
