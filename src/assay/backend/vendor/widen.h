// binary32 rows as binary64, with the squares that norms are made of. Exact but for the sums of squares, which are good to about n · 2^-53. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace assay::vendor {

template <class T>
inline void Widen(const float* from, std::int64_t n, T* to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

// Returns the sum of squares.
template <class T>
inline double WidenRow(const float* from, std::int64_t n, T* to) {
  std::array<double, 8> lanes{};
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (std::size_t l = 0; l < 8; ++l) {
      const double x = from[i + static_cast<std::int64_t>(l)];
      to[i + static_cast<std::int64_t>(l)] = static_cast<T>(x);
      lanes[l] += x * x;
    }
  }
  for (; i < n; ++i) {
    const double x = from[i];
    to[i] = static_cast<T>(x);
    lanes[0] += x * x;
  }
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// Adds each square to its own sum.
template <class T>
inline void WidenColumns(const float* from, std::int64_t n, T* to, double* squares) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = from[i];
    to[i] = static_cast<T>(x);
    squares[i] += x * x;
  }
}

}  // namespace assay::vendor
