// Stands before the header of this name: the same sums with the rows in reverse.
#pragma once

#define ColumnSums ColumnSumsForward
#include_next "assay/backend/vendor/column_sum.h"
#undef ColumnSums

namespace assay::vendor {

template <class T, class Term>
void ColumnSums(std::int64_t rows, Range columns, const Term& term, T* out) {
  ColumnSumsForward<T>(rows, columns, [&](std::int64_t r, std::int64_t c) { return term(rows - 1 - r, c); }, out);
}

}  // namespace assay::vendor
