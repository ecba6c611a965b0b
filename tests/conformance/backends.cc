#include "conformance/backends.h"

#include "assay/backend/ref/ref.h"
#ifdef ASSAY_HAVE_CPU_BACKEND
#include "assay/backend/cpu/cpu.h"
#endif

namespace assay::testkit {

std::vector<NamedBackend> AllBackends() {
  std::vector<NamedBackend> all;
  for (const int threads : {1, 2, 7}) {
    const auto pool = std::make_shared<ThreadPool>(threads);
    const std::string suffix = "_t" + std::to_string(threads);
    all.push_back({"ref" + suffix, pool, ref::MakeRefBackend(*pool)});
#ifdef ASSAY_HAVE_CPU_BACKEND
    for (const cpu::Simd simd : cpu::SupportedSimd()) {
      all.push_back({std::string(cpu::Name(simd)) + suffix, pool, cpu::MakeCpuBackend(simd, *pool)});
    }
#endif
  }
  return all;
}

}  // namespace assay::testkit
