// All 2^32 arguments of one function, through the reference and through the op's kernel of each instruction set.
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "exhaustive/exhaustive.h"
#ifdef ASSAY_HAVE_CPU_BACKEND
#include "assay/backend/cpu/cpu.h"
#endif
#include "assay/base/check.h"
#include "assay/ops/table.h"

namespace assay::testkit {
namespace {

constexpr std::int64_t kChunk = 1 << 14;
constexpr std::int64_t kArguments = std::int64_t{1} << 32;

std::vector<std::unique_ptr<HostBackend>> InstructionSets(ThreadPool& pool) {
  std::vector<std::unique_ptr<HostBackend>> backends;
#ifdef ASSAY_HAVE_CPU_BACKEND
  for (cpu::Simd simd : cpu::SupportedSimd()) backends.push_back(cpu::MakeCpuBackend(simd, pool));
#else
  static_cast<void>(pool);
#endif
  return backends;
}

OpInstance ChunkOp(const char* name) {
  const auto index = Ops().FindName(name);
  ASSAY_CHECK(index.has_value());
  const TensorType type{DType::kF32, {kChunk}};
  return {.def = &Ops()[*index], .attrs = {}, .in = {type}, .out = {type}};
}

std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(numerics::CanonicalNan(x)); }

}  // namespace

bool CheckAllArguments(const numerics::Truth& truth, ThreadPool& pool) {
  const auto backends = InstructionSets(pool);
  const OpInstance op = ChunkOp(truth.name);
  Findings findings;
  pool.ParallelFor(kArguments / kChunk, 16, [&](std::int64_t begin, std::int64_t end, int) {
    std::vector<float> x(kChunk), want(kChunk), got(kChunk);
    Findings::Part part;
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(chunk * kChunk) + static_cast<std::uint32_t>(i));
        want[i] = truth.ours(x[i]);
        part.Add(x[i], numerics::ErrorAt(truth, x[i], want[i]));
      }
      for (const auto& backend : backends) {
        const std::array<const void*, 1> in = {x.data()};
        const std::array<void*, 1> out = {got.data()};
        backend->RunElements({&op, in, out}, 0, kChunk);
        for (std::size_t i = 0; i < x.size(); ++i) {
          if (Bits(want[i]) == std::bit_cast<std::uint32_t>(got[i])) continue;
          if (part.differing++ == 0) part.differing_at = x[i];
        }
      }
    }
    findings.Merge(part);
  });
  return findings.Report(truth.name);
}

}  // namespace assay::testkit
