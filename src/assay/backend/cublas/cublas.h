// cuBLAS, found on the machine when a backend is made: the build needs neither its headers nor its library.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>

#include "assay/base/result.h"

namespace assay::cublas {

class Cublas {
 public:
  // Work goes to `stream`. Error where the library is not installed.
  static Result<Cublas> Load(cudaStream_t stream);

  // `count` products c[m, n] = a[m, k] · b[k, n], row-major, each operand the stride behind that of the product before. A transposed operand is stored as [k, m] or [n, k]. Throws DeviceError.
  void Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
            std::int64_t lda, std::int64_t stride_a, const double* b, std::int64_t ldb, std::int64_t stride_b, double* c,
            std::int64_t ldc, std::int64_t stride_c, std::int64_t count) const;
  void Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
            std::int64_t lda, std::int64_t stride_a, const float* b, std::int64_t ldb, std::int64_t stride_b, float* c,
            std::int64_t ldc, std::int64_t stride_c, std::int64_t count) const;

 private:
  template <class T>
  using GemmFn = int (*)(void* handle, int transpose_a, int transpose_b, int m, int n, int k, const T* alpha, const T* a,
                         int lda, long long stride_a, const T* b, int ldb, long long stride_b, const T* beta, T* c, int ldc,
                         long long stride_c, int count);

  std::shared_ptr<void> handle_;
  GemmFn<double> dgemm_ = nullptr;
  GemmFn<float> sgemm_ = nullptr;
};

}  // namespace assay::cublas
