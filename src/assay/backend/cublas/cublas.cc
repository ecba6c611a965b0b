#include "assay/backend/cublas/cublas.h"

#include <dlfcn.h>

#include "assay/backend/cuda/cuda.h"
#include "assay/base/check.h"

namespace assay::cublas {
namespace {

// Of cublas_api.h.
constexpr int kSuccess = 0, kNoTrans = 0, kTrans = 1;

int Narrow(std::int64_t n) {
  ASSAY_CHECK(n >= 0 && n <= INT32_MAX);
  return static_cast<int>(n);
}

template <class Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

// Row-major c = a · b is column-major c' = b' · a'.
template <class T, class Function>
void Call(void* handle, Function gemm, bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          const T* a, std::int64_t lda, std::int64_t stride_a, const T* b, std::int64_t ldb, std::int64_t stride_b, T* c,
          std::int64_t ldc, std::int64_t stride_c, std::int64_t count) {
  const T one{1}, zero{0};
  const int status =
      gemm(handle, transpose_b ? kTrans : kNoTrans, transpose_a ? kTrans : kNoTrans, Narrow(n), Narrow(m), Narrow(k), &one, b,
           Narrow(ldb), stride_b, a, Narrow(lda), stride_a, &zero, c, Narrow(ldc), stride_c, Narrow(count));
  if (status != kSuccess)
    throw cuda::DeviceError(fmt::format("GPU: cuBLAS refused a product of {} x {} x {}: status {}", m, n, k, status));
}

}  // namespace

Result<Cublas> Cublas::Load(cudaStream_t stream) {
  void* library = nullptr;
  for (const char* name : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    return Err(
        "--device cuda: precision fp64-rounded needs cuBLAS: libcublas.so.13 was not found (it comes with the CUDA toolkit)");
  }
  Cublas blas;
  int (*create)(void**) = nullptr;
  int (*destroy)(void*) = nullptr;
  int (*set_stream)(void*, cudaStream_t) = nullptr;
  if (!Find(library, "cublasCreate_v2", create) || !Find(library, "cublasDestroy_v2", destroy) ||
      !Find(library, "cublasSetStream_v2", set_stream) || !Find(library, "cublasDgemmStridedBatched", blas.dgemm_) ||
      !Find(library, "cublasSgemmStridedBatched", blas.sgemm_)) {
    return Err("libcublas.so: expected the functions of cuBLAS 11 and newer");
  }
  void* handle = nullptr;
  if (const int status = create(&handle); status != kSuccess)
    return Err("--device cuda: cuBLAS does not start: status {}", status);
  blas.handle_ = std::shared_ptr<void>(handle, [destroy](void* h) { destroy(h); });
  if (set_stream(handle, stream) != kSuccess) return Err("--device cuda: cuBLAS refuses the stream");
  return blas;
}

void Cublas::Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                  std::int64_t lda, std::int64_t stride_a, const double* b, std::int64_t ldb, std::int64_t stride_b, double* c,
                  std::int64_t ldc, std::int64_t stride_c, std::int64_t count) const {
  Call(handle_.get(), dgemm_, transpose_a, transpose_b, m, n, k, a, lda, stride_a, b, ldb, stride_b, c, ldc, stride_c, count);
}

void Cublas::Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                  std::int64_t lda, std::int64_t stride_a, const float* b, std::int64_t ldb, std::int64_t stride_b, float* c,
                  std::int64_t ldc, std::int64_t stride_c, std::int64_t count) const {
  Call(handle_.get(), sgemm_, transpose_a, transpose_b, m, n, k, a, lda, stride_a, b, ldb, stride_b, c, ldc, stride_c, count);
}

}  // namespace assay::cublas
