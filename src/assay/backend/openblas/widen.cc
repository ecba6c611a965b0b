#include "assay/backend/openblas/widen.h"

#include <array>

namespace assay::rounded {
namespace {

[[gnu::always_inline]] inline void Row(const float* __restrict from, std::int64_t n, double* __restrict to) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[i];
}

[[gnu::always_inline]] inline double RowSquares(const float* __restrict from, std::int64_t n, double* __restrict to) {
  constexpr std::int64_t kLanes = 16;
  std::array<double, kLanes> lanes{};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::int64_t l = 0; l < kLanes; ++l) {
      const double x = from[i + l];
      to[i + l] = x;
      lanes[static_cast<std::size_t>(l)] += x * x;
    }
  }
  for (; i < n; ++i) {
    const double x = from[i];
    to[i] = x;
    lanes[0] += x * x;
  }
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

// Four rows at a time, so that the sums are fetched and stored once for these.
[[gnu::always_inline]] inline void Columns(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t n,
                                           double* to, std::int64_t step, double* __restrict squares) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* __restrict x = from + r * stride;
    double* __restrict y = to + r * step;
    for (std::int64_t i = 0; i < n; ++i) {
      const double a = x[i], b = x[stride + i], c = x[2 * stride + i], d = x[3 * stride + i];
      y[i] = a;
      y[step + i] = b;
      y[2 * step + i] = c;
      y[3 * step + i] = d;
      squares[i] += (a * a + b * b) + (c * c + d * d);
    }
  }
  for (; r < rows; ++r) {
    const float* __restrict x = from + r * stride;
    double* __restrict y = to + r * step;
    for (std::int64_t i = 0; i < n; ++i) {
      const double a = x[i];
      y[i] = a;
      squares[i] += a * a;
    }
  }
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void RowAvx2(const float* from, std::int64_t n, double* to) { Row(from, n, to); }
[[gnu::target("avx2")]] double RowSquaresAvx2(const float* from, std::int64_t n, double* to) { return RowSquares(from, n, to); }
[[gnu::target("avx2")]] void ColumnsAvx2(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t n, double* to,
                                         std::int64_t step, double* squares) {
  Columns(from, stride, rows, n, to, step, squares);
}
bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }
#endif

}  // namespace

void Widen(const float* from, std::int64_t n, double* to) {
#if defined(__x86_64__)
  if (HasAvx2()) return RowAvx2(from, n, to);
#endif
  Row(from, n, to);
}

double WidenRow(const float* from, std::int64_t n, double* to) {
#if defined(__x86_64__)
  if (HasAvx2()) return RowSquaresAvx2(from, n, to);
#endif
  return RowSquares(from, n, to);
}

void WidenColumns(const float* from, std::int64_t stride, std::int64_t rows, std::int64_t n, double* to, std::int64_t step,
                  double* squares) {
#if defined(__x86_64__)
  if (HasAvx2()) return ColumnsAvx2(from, stride, rows, n, to, step, squares);
#endif
  Columns(from, stride, rows, n, to, step, squares);
}

}  // namespace assay::rounded
