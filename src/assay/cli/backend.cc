#include "assay/cli/backend.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "assay/backend/openblas/openblas_backend.h"
#include "assay/backend/ref/ref_backend.h"
#include "assay/ops/table.h"
#ifdef ASSAY_HAVE_CPU_BACKEND
#include "assay/backend/cpu/cpu.h"
#endif
#ifdef ASSAY_HAVE_CUDA_BACKEND
#include "assay/backend/cublas/cublas_backend.h"
#include "assay/backend/cuda/cuda.h"
#endif

namespace assay::cli {

std::vector<std::string> AvailableSimd() {
  std::vector<std::string> names;
#ifdef ASSAY_HAVE_CPU_BACKEND
  for (cpu::Simd simd : cpu::SupportedSimd()) names.emplace_back(cpu::Name(simd));
#endif
  names.emplace_back("ref");
  return names;
}

namespace {

#ifdef ASSAY_HAVE_CUDA_BACKEND
Result<std::unique_ptr<Backend>> MakeCuda() { return cuda::MakeCudaBackend(); }
Result<std::unique_ptr<Backend>> MakeCublas(const rounded::Options& options, ThreadPool& pool) {
  return cublas::MakeCublasBackend(options, pool);
}
#else
Result<std::unique_ptr<Backend>> MakeCuda() {
  return Err("--device cuda: this build has no CUDA backend; build it where nvcc is installed, or use --device cpu");
}
Result<std::unique_ptr<Backend>> MakeCublas(const rounded::Options&, ThreadPool&) { return MakeCuda(); }
#endif

}  // namespace

Result<std::unique_ptr<Backend>> MakeBackend(std::string_view device, std::string_view simd, ThreadPool& pool) {
  if (device == "cuda") {
    if (simd != "auto") return Err("--simd {}: is for --device cpu", simd);
    return MakeCuda();
  }
  const std::vector<std::string> available = AvailableSimd();
  const std::string_view wanted = simd == "auto" ? std::string_view(available.front()) : simd;
  if (std::find(available.begin(), available.end(), wanted) == available.end()) {
    return Err("--simd {}: not available here; this machine and build have: auto, {}", simd, fmt::join(available, ", "));
  }
#ifdef ASSAY_HAVE_CPU_BACKEND
  for (cpu::Simd each : cpu::SupportedSimd()) {
    if (cpu::Name(each) == wanted) return cpu::MakeCpuBackend(each, pool);
  }
#endif
  return ref::MakeRefBackend(pool);
}

Result<std::unique_ptr<Backend>> MakeVendorBackend(std::string_view device, const Job& job, ThreadPool& pool) {
  std::map<OpIndex, double> tau;
  for (const auto& [name, spacings] : job.round_tau) tau[Ops().FindName(name).value()] = double{spacings};
  const rounded::Options options{
      .precision = job.precision == Precision::kFp32Vendor ? rounded::Precision::kFp32 : rounded::Precision::kFp64Rounded,
      .bits = static_cast<int>(job.round_bits),
      .rule = job.round_rule == RoundRule::kPaper ? rounding::Rule::kPaper : rounding::Rule::kBound,
      .tau = std::move(tau)};
  if (device == "cuda") return MakeCublas(options, pool);
  return rounded::MakeOpenBlasBackend(options, pool);
}

}  // namespace assay::cli
