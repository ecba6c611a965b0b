// The vendor backend on a GPU: operators in FP64 with cuBLAS and CUDA's functions, every result rounded to a grid on the device, close calls handed to a Rounder (docs/ROUNDING.md).
//
// Contractions go to cuBLAS, which is loaded when a backend is made. Ops that only move values run on the kernels of the CUDA backend. The few that no model's training uses run on the host
// (KernelOf in vendor_cuda.cc).
#pragma once

#include <memory>

#include "assay/backend/kernel.h"
#include "assay/backend/vendor/vendor.h"
#include "assay/base/result.h"

namespace assay::vendor_cuda {

// An error where there is no GPU, no cuBLAS or no OpenBLAS. The pool must outlive the backend; hooks are not taken. Of the rules, kBound.
Result<std::unique_ptr<Backend>> MakeVendorCudaBackend(const vendor::Options& options, ThreadPool& pool);

// Whether an op runs on the device; others are taken to the host and back. For tests.
bool RunsOnDevice(OpIndex op);

}  // namespace assay::vendor_cuda
