// Sums down the columns of a matrix, with the rows outside and a piece of the columns inside: blocks of 128 rows, blocks of 128 such sums, and so on, as
// docs/ROUNDING.md, section 2, wants sums to be. A column's sum does not depend on the others. Pure; thread safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "assay/backend/vendor/formula.h"

namespace assay::vendor {

// A sum of terms of type T, and what is needed for its bound.
template <class T>
struct Accumulator;

template <>
struct Accumulator<double> {
  double v = 0;

  ASSAY_HD void Add(double term) { v += term; }
  ASSAY_HD void AddSum(const Accumulator& sum) { v += sum.v; }
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
    quantum = std::min(quantum, numerics::QuantumOf(term));
  }
  ASSAY_HD void AddSum(const Accumulator& sum) {
    v = v + sum.v;
    e += sum.e;
    magnitude += sum.magnitude;
    quantum = std::min(quantum, sum.quantum);
  }
  ASSAY_HD numerics::Bounded<V> Total(double depth) const { return {v, numerics::SumError(depth, e, magnitude, quantum)}; }
};

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
    for (std::int64_t c = 0; c < width; ++c) sums[c].AddSum(block[static_cast<std::size_t>(c)]);
  }
}

// out[c - columns.begin] = the sum over rows r of term(r, c), which gives T. A sum of one term is that term.
template <class T, class Term>
void ColumnSums(std::int64_t rows, Range columns, const Term& term, T* out) {
  std::int64_t stride = 1;
  while (stride * kSumBlock < rows) stride *= kSumBlock;
  const double depth = rows == 1 ? 0.0 : numerics::SumDepth(rows);
  for (std::int64_t first = columns.begin; first < columns.end; first += kColumnPiece) {
    const std::int64_t width = std::min(kColumnPiece, columns.end - first);
    std::array<Accumulator<T>, kColumnPiece> sums{};
    AddRows<T>({0, rows}, stride, first, width, term, sums.data());
    for (std::int64_t c = 0; c < width; ++c) out[first - columns.begin + c] = sums[static_cast<std::size_t>(c)].Total(depth);
  }
}

}  // namespace assay::vendor
