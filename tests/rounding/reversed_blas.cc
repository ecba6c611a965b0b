// A BLAS that adds products from the last to the first: what another machine may do, where OpenBLAS's kernels all happen to agree. It takes the place of
// libopenblas.so.0 in tests, and knows only what the OpenBLAS backend calls. One thread.
#include <algorithm>
#include <cstddef>
#include <vector>

namespace {

constexpr int kTrans = 112;
constexpr std::size_t kColumns = 512;  // of a strip, whose sums stay in the cache

template <class T>
struct Matrix {
  const T* data;
  std::size_t row, column;  // strides
  T At(std::size_t r, std::size_t c) const { return data[r * row + c * column]; }
};

template <class T>
Matrix<T> MatrixOf(int transpose, const T* data, int stride) {
  const auto s = static_cast<std::size_t>(stride);
  return transpose == kTrans ? Matrix<T>{data, 1, s} : Matrix<T>{data, s, 1};
}

// C = A B + beta C, row-major. The products of an element are added up before they reach C.
template <class T>
void Multiply(std::size_t m, std::size_t n, std::size_t k, const Matrix<T>& a, const Matrix<T>& b, T beta, T* c,
              std::size_t ldc) {
  std::vector<T> strip(k * kColumns), sums(kColumns);
  for (std::size_t first = 0; first < n; first += kColumns) {
    const std::size_t width = std::min(kColumns, n - first);
    for (std::size_t p = 0; p < k; ++p) {
      for (std::size_t j = 0; j < width; ++j) strip[p * width + j] = b.At(p, first + j);
    }
    for (std::size_t i = 0; i < m; ++i) {
      std::fill(sums.begin(), sums.end(), T{0});
      for (std::size_t p = k; p-- > 0;) {
        const T factor = a.At(i, p);
        const T* row = strip.data() + p * width;
        for (std::size_t j = 0; j < width; ++j) sums[j] += factor * row[j];
      }
      T* out = c + i * ldc + first;
      for (std::size_t j = 0; j < width; ++j) out[j] = beta == T{0} ? sums[j] : beta * out[j] + sums[j];
    }
  }
}

template <class T>
void Gemm(int ta, int tb, int m, int n, int k, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) {
  Multiply(static_cast<std::size_t>(m), static_cast<std::size_t>(n), static_cast<std::size_t>(k), MatrixOf(ta, a, lda),
           MatrixOf(tb, b, ldb), beta, c, static_cast<std::size_t>(ldc));
}

}  // namespace

extern "C" {

// Row-major and alpha = 1 are taken for granted.
void cblas_dgemm(int, int ta, int tb, int m, int n, int k, double, const double* a, int lda, const double* b, int ldb,
                 double beta, double* c, int ldc) {
  Gemm(ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc);
}
void cblas_sgemm(int, int ta, int tb, int m, int n, int k, float, const float* a, int lda, const float* b, int ldb, float beta,
                 float* c, int ldc) {
  Gemm(ta, tb, m, n, k, a, lda, b, ldb, beta, c, ldc);
}
void openblas_set_num_threads(int) {}
char* openblas_get_corename() {
  static char name[] = "reversed";
  return name;
}
}
