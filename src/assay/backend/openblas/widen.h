// binary32 rows as binary64, with the squares that norms are made of. Exact but for the sums of squares, which are good to about n · 2^-53. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace assay::rounded {

void Widen(const float* from, std::int64_t n, double* to);

// Returns the sum of squares.
double WidenRow(const float* from, std::int64_t n, double* to);

// n columns of `rows` rows that are `stride` apart, into rows that are `step` apart; adds the squares of a column to its own sum.
void WidenColumns(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t n, double* to, std::int64_t step,
                  double* squares);

// For contractions in FP32, which have no bounds: no squares.
inline void Widen(const float* from, std::int64_t n, float* to) { std::copy_n(from, n, to); }
inline double WidenRow(const float* from, std::int64_t n, float* to) {
  Widen(from, n, to);
  return 0;
}
inline void WidenColumns(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t n, float* to,
                         std::int64_t step, double*) {
  for (std::int64_t r = 0; r < rows; ++r) Widen(from + r * stride, n, to + r * step);
}

}  // namespace assay::rounded
