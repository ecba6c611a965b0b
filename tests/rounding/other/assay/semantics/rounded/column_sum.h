// Stands before the header of this name: the same sums with the rows in reverse.
#pragma once

#define ColumnSums ColumnSumsForward
#define ColumnPairs ColumnPairsForward
#include_next "assay/semantics/rounded/column_sum.h"
#undef ColumnSums
#undef ColumnPairs

namespace assay::rounded {

template <class T, class Term>
void ColumnSums(std::int64_t rows, Range columns, double depth, const Term& term, T* out) {
  ColumnSumsForward<T>(rows, columns, depth, [&](std::int64_t r, std::int64_t c) { return term(rows - 1 - r, c); }, out);
}

template <class T, class Term>
void ColumnSums(std::int64_t rows, Range columns, const Term& term, T* out) {
  ColumnSumsForward<T>(rows, columns, [&](std::int64_t r, std::int64_t c) { return term(rows - 1 - r, c); }, out);
}

template <bool with_least, class Term, class Done>
void ColumnPairs(std::int64_t rows, Range columns, const Term& term, const Done& done) {
  ColumnPairsForward<with_least>(rows, columns, [&](std::int64_t r, std::int64_t c) { return term(rows - 1 - r, c); }, done);
}

}  // namespace assay::rounded
