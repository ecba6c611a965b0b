#include "conformance/hostile.h"

#include "conformance/case_run.h"
#include "conformance/mutants.h"

namespace assay::testkit {
namespace {

constexpr std::int64_t kMaxElements = 5000;
constexpr double kMaxFlops = 2e6;

std::int64_t Largest(std::span<const TensorType> types) {
  std::int64_t most = 0;
  for (const TensorType& type : types) most = std::max(most, type.elements());
  return most;
}

}  // namespace

std::string CheckHostile(const OpDef& def, std::span<const NamedBackend> backends, HostileCounts& counts) {
  for (const OpCase& c : MutantsOf(def)) {
    ++counts.tried;
    const std::optional<OpInstance> op = Accepted(def, c);
    if (!op || def.cost(*op).flops > kMaxFlops || Largest(c.in) > kMaxElements || Largest(op->out) > kMaxElements) continue;
    ++counts.accepted;
    const CaseRun run(def, c);
    std::int64_t comparisons = 0;
    std::string error = CheckDependencies(run, comparisons);
    for (const NamedBackend& named : backends) {
      if (error.empty()) error = CheckWhole(run, *named.backend);
      if (!error.empty()) return fmt::format("{} on {}: {}", Describe(def, c), named.name, error);
    }
  }
  return {};
}

}  // namespace assay::testkit
