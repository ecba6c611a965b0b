#include "conformance/backends.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "assay/backend/ref/ref_backend.h"
#include "assay/base/check.h"
#ifdef ASSAY_HAVE_CPU_BACKEND
#include "assay/backend/cpu/cpu.h"
#include "assay/backend/cpu/digit_units.h"
#endif
#ifdef ASSAY_HAVE_CUDA_BACKEND
#include "assay/backend/cuda/cuda.h"
#include "assay/backend/cuda/kernels.h"
#endif

namespace assay::testkit {
namespace {

#ifdef ASSAY_HAVE_CUDA_BACKEND
// With the launchers' own choices, and with shapes of launches that they would hardly choose.
void AddCuda(const std::shared_ptr<ThreadPool>& pool, std::vector<NamedBackend>& all) {
  if (!cuda::FindDevice()) return;
  const std::pair<const char*, cuda::Tuning> tunings[] = {
      {"cuda", {}},
      {"cuda_32threads", {.threads = 32, .gemm_tile = 1, .gemm_split = 1, .digit_unit = cuda::DigitUnit::kMmaInt8}},
      {"cuda_64threads", {.threads = 64, .gemm_tile = 6, .digit_unit = cuda::DigitUnit::kMmaBf16}},
      {"cuda_96threads", {.threads = 96, .gemm_tile = 2, .gemm_split = 3, .digit_unit = cuda::DigitUnit::kPlain}},
      {"cuda_256threads", {.threads = 256, .gemm_tile = 3, .gemm_split = 1000, .gemm_waiting = 3000}},
  };
  for (const auto& [name, tuning] : tunings) {
    auto backend = cuda::MakeCudaBackend(tuning);
    ASSAY_CHECK(backend.has_value());
    all.push_back({name, pool, std::move(*backend)});
  }
}
#endif

}  // namespace

std::vector<NamedBackend> AllBackends() {
  std::vector<NamedBackend> all;
  for (const int threads : {1, 2, 7}) {
    const auto pool = std::make_shared<ThreadPool>(threads);
    const std::string suffix = "_t" + std::to_string(threads);
    all.push_back({"ref" + suffix, pool, ref::MakeRefBackend(*pool)});
#ifdef ASSAY_HAVE_CPU_BACKEND
    for (const cpu::Simd simd : cpu::SupportedSimd()) {
      all.push_back({std::string(cpu::Name(simd)) + suffix, pool, cpu::MakeCpuBackend(simd, *pool)});
      // Digits have more units than there are instruction sets.
      const std::vector<cpu::DigitUnit> units = cpu::DigitUnits(simd);
      for (std::size_t i = 1; i < units.size() && threads == 2; ++i) {
        all.push_back({fmt::format("{}_{}{}", cpu::Name(simd), cpu::Name(units[i]), suffix), pool,
                       cpu::MakeCpuBackend(simd, units[i], *pool)});
      }
    }
#endif
  }
#ifdef ASSAY_HAVE_CUDA_BACKEND
  AddCuda(all.front().pool, all);
#endif
  if (const char* wanted = std::getenv("ASSAY_TEST_BACKENDS")) {
    std::erase_if(all, [&](const NamedBackend& named) { return !named.name.starts_with(wanted); });
    ASSAY_CHECK(!all.empty());
  }
  return all;
}

}  // namespace assay::testkit
