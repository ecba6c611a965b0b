// The cuBLAS backend: operators in FP64 with cuBLAS and CUDA's functions, every result rounded to a grid on the device, close calls handed to a Rounder (docs/ROUNDING.md).
//
// Contractions go to cuBLAS, which is loaded when a backend is made. Ops that only move values run on the kernels of the CUDA backend, the others on those
// of kernels.h.
#pragma once

#include <memory>

#include "assay/backend/backend.h"
#include "assay/backend/openblas/openblas_backend.h"
#include "assay/base/result.h"

namespace assay::cublas {

// An error where there is no GPU or no cuBLAS. Of the rules, kBound; hooks are not taken. The pool, on which logs are coded, must outlive the backend.
Result<std::unique_ptr<Backend>> MakeCublasBackend(const rounded::Options& options, ThreadPool& pool);

}  // namespace assay::cublas
