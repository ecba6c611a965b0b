// In the place of OpenBLAS: matrix products by plain loops, the places of a block from the last to the first. Whether products and additions are fused is up to the compiler.
#include "assay/backend/openblas/blas.h"

#include <algorithm>
#include <vector>

namespace assay::rounded {
namespace {

constexpr std::int64_t kRows = 4;  // computed together

// c += a · b with b as [k, n]; a(i, p).
template <class T, class A>
void Multiply(std::int64_t m, std::int64_t n, std::int64_t k, const A& a, const T* b, std::int64_t ldb, T* c,
              std::int64_t ldc) {
  std::int64_t i = 0;
  for (; i + kRows <= m; i += kRows) {
    T *c0 = c + i * ldc, *c1 = c0 + ldc, *c2 = c1 + ldc, *c3 = c2 + ldc;
    for (std::int64_t p = k - 1; p >= 0; --p) {
      const T a0 = a(i, p), a1 = a(i + 1, p), a2 = a(i + 2, p), a3 = a(i + 3, p);
      const T* line = b + p * ldb;
#pragma GCC ivdep
      for (std::int64_t j = 0; j < n; ++j) {
        c0[j] += a0 * line[j];
        c1[j] += a1 * line[j];
        c2[j] += a2 * line[j];
        c3[j] += a3 * line[j];
      }
    }
  }
  for (; i < m; ++i) {
    for (std::int64_t p = k - 1; p >= 0; --p) {
      for (std::int64_t j = 0; j < n; ++j) c[i * ldc + j] += a(i, p) * b[p * ldb + j];
    }
  }
}

// The sum of a block is made by itself and then added to the total.
template <class T>
void Product(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t lda,
             const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  std::vector<T> turned, block(static_cast<std::size_t>(m * n));
  if (transpose_b) {
    turned.resize(static_cast<std::size_t>(k * n));
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t p = 0; p < k; ++p) turned[static_cast<std::size_t>(p * n + j)] = b[j * ldb + p];
    }
    b = turned.data();
    ldb = n;
  }
  const auto at = [&](std::int64_t i, std::int64_t p) { return transpose_a ? a[p * lda + i] : a[i * lda + p]; };
  Multiply(m, n, k, at, b, ldb, block.data(), n);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const T sum = block[static_cast<std::size_t>(i * n + j)];
      c[i * ldc + j] = beta == 0 ? sum : c[i * ldc + j] + sum;
    }
  }
}

}  // namespace

Result<Blas> Blas::Load() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma") == 0) return Err("expected a processor with FMA, for which this program is compiled");
#endif
  Blas blas;
  blas.core_ = "loops";
  return blas;
}

void Blas::Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) const {
  Product(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

void Blas::Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) const {
  Product(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace assay::rounded
