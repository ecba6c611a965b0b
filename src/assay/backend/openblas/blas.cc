#include "assay/backend/openblas/blas.h"

#include <dlfcn.h>

#include "assay/base/check.h"
#include "assay/base/thread_pool.h"

namespace assay::rounded {
namespace {

// Of CBLAS.
constexpr int kRowMajor = 101, kNoTrans = 111, kTrans = 112;

int Narrow(std::int64_t n) {
  ASSAY_CHECK(n >= 0 && n <= INT32_MAX);
  return static_cast<int>(n);
}

template <class Function, class T>
void Call(Function gemm, bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
          std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  gemm(kRowMajor, transpose_a ? kTrans : kNoTrans, transpose_b ? kTrans : kNoTrans, Narrow(m), Narrow(n), Narrow(k), T{1}, a,
       Narrow(lda), b, Narrow(ldb), beta, c, Narrow(ldc));
  SetIeeeFloatingPoint();
}

template <class Function>
bool Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

// The library stays loaded: its threads may outlive whoever asked for it.
Result<Blas> Blas::Load() {
  void* library = nullptr;
  for (const char* name : {"libopenblas.so.0", "libopenblas.so"}) {
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (library == nullptr) {
    return Err("precision fp64-rounded needs OpenBLAS: libopenblas.so.0 was not found (Debian package libopenblas0-pthread)");
  }
  Blas blas;
  void (*set_threads)(int) = nullptr;
  char* (*core_name)() = nullptr;
  if (!Find(library, "cblas_dgemm", blas.dgemm_) || !Find(library, "cblas_sgemm", blas.sgemm_) ||
      !Find(library, "openblas_set_num_threads", set_threads) || !Find(library, "openblas_get_corename", core_name)) {
    return Err("libopenblas.so.0: expected the functions of OpenBLAS with CBLAS (Debian package libopenblas0-pthread)");
  }
  set_threads(1);
  blas.core_ = core_name();
  SetIeeeFloatingPoint();
  return blas;
}

void Blas::Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const double* a,
                std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) const {
  Call(dgemm_, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

void Blas::Gemm(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k, const float* a,
                std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) const {
  Call(sgemm_, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc);
}

}  // namespace assay::rounded
