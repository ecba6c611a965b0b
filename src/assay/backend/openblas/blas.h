// OpenBLAS, found on the machine when a backend is made: the build needs neither its headers nor its library.
//
// Every call runs on the calling thread alone: the pool's threads each call for a part of the result. Thread safe.
#pragma once

#include <cstdint>
#include <string>

#include "assay/base/result.h"

namespace assay::rounded {

class Blas {
 public:
  // Error where the library is not installed.
  static Result<Blas> Load();

  // c[m, n] = a[m, k] · b[k, n] + beta · c, row-major. A transposed operand is stored as [k, m] or [n, k]. Leaves IEEE arithmetic behind.
  void Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
            std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) const;
  void Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
            std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) const;

  // The processor whose kernels it uses, in its own words.
  const std::string& core() const { return core_; }

 private:
  template <class T>
  using GemmFn = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha, const T* a, int lda,
                          const T* b, int ldb, T beta, T* c, int ldc);

  GemmFn<double> dgemm_ = nullptr;
  GemmFn<float> sgemm_ = nullptr;
  std::string core_;
};

}  // namespace assay::rounded
