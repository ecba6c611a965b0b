#include "assay/audit/calibrate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "assay/audit/audit.h"
#include "assay/exec/step_nodes.h"
#include "assay/rounding/paper_log.h"

namespace assay {
namespace {

// The next below that a job can hold: the search takes a sample at the threshold itself for close, the rule does not, and where large terms cancel distances are such round numbers.
float Threshold(const numerics::Grid& grid, std::span<const rounding::TauSample> samples) {
  const double tau = rounding::FindTau(grid.bits(), samples) / grid.Spacing(1);
  const auto nearest = static_cast<float>(tau);
  return double{nearest} < tau ? nearest : std::nextafter(nearest, 0.0f);
}

}  // namespace

Result<Calibration> Calibrate(const RunDirectory& run, const PreparedJob& prepared, Backend& backend, ThreadPool& pool) {
  const Job& job = prepared.job;
  if (job.precision != Precision::kFp64Rounded || job.round_rule != RoundRule::kBound) {
    return Err("{}: expected a run of an fp64-rounded job with round_rule = \"bound\"", run.path());
  }
  const numerics::Grid grid(static_cast<int>(job.round_bits));
  const StepNodes nodes(prepared.program);
  std::map<std::string, std::vector<rounding::TauSample>> samples;
  const AuditHooks hooks{.on_rounding = [&](const StepRounding& step) {
    const auto name = [&](std::size_t node) { return std::string(nodes.Instance(node).def->name); };
    if (samples.empty()) {
      for (const std::size_t node : step.nodes) samples[name(node)];
    }
    for (const rounding::Correction& c : step.report.corrected) {
      samples[name(step.nodes[c.result])].push_back(rounding::TauSampleAt(grid, c.y));
    }
  }};
  const AuditReport report = Audit(run, prepared, {}, backend, pool, hooks);
  if (report.verdict != Verdict::kVerified) {
    return Err("{}: is {}: {}", run.path(), Name(report.verdict),
               report.refutation ? report.refutation->reason : report.reason);
  }
  Calibration calibration{.steps = report.steps_checked, .elements = report.roundings->elements, .ops = {}};
  for (const auto& [op, found] : samples) {
    const float tau = Threshold(grid, found);
    const double scaled = double{tau} * grid.Spacing(1);
    const auto missed = std::ranges::count_if(found, [&](const auto& s) { return !(s.distance > s.scale * scaled); });
    calibration.ops.push_back({op, found.size(), static_cast<std::uint64_t>(missed), tau});
  }
  return calibration;
}

}  // namespace assay
