// Which set of kernels a command runs on. All give the same bytes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/backend/backend.h"
#include "assay/base/result.h"
#include "assay/base/thread_pool.h"
#include "assay/job/job.h"

namespace assay::cli {

// What this machine can run and this build contains, fastest first; "ref" is always the last.
std::vector<std::string> AvailableSimd();

// `device` is "cpu" or "cuda"; `simd`, for the CPU, is "auto" or one of avx512, avx2, neon, ref. The pool must outlive the backend.
Result<std::unique_ptr<Backend>> MakeBackend(std::string_view device, std::string_view simd, ThreadPool& pool);

// The backend of a job that computes with the vendor's kernels (docs/ROUNDING.md).
Result<std::unique_ptr<Backend>> MakeVendorBackend(std::string_view device, const Job& job, ThreadPool& pool);

}  // namespace assay::cli
