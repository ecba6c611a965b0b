#include "assay/audit/copy.h"

#include "assay/base/file.h"
#include "assay/run/rounding_logs.h"
#include "assay/run/snapshot.h"

namespace assay {
namespace {

using Damage = Result<std::optional<Refutation>>;

Damage Damaged(std::string reason, std::optional<std::int64_t> step = std::nullopt) {
  return Refutation{.reason = std::move(reason), .damage = true, .step = step};
}

// What this machine cannot read is an error; a file that is not as it must be is damaged.
Damage DamagedBy(const Error& error, std::optional<std::int64_t> step = std::nullopt) {
  if (error.system) return tl::unexpected(error);
  return Damaged(error.message, step);
}

Status CheckRoundingLogs(const RunDirectory& run, const RunLog& log) {
  ASSAY_ASSIGN(RoundingLogs logs, RoundingLogs::Open(run.rounding_path()));
  std::int64_t from = 0;
  for (const LogEntry& entry : log.entries()) {
    ASSAY_ASSIGN(const std::vector<RoundingLeaf> leaves, logs.Leaves(from, entry.step));
    if (entry.rounding_root != RoundingRootOfSteps(leaves)) {
      return Err("{}: the rounding logs of steps {} to {} are not those of the log", run.rounding_path(), from + 1, entry.step);
    }
    from = entry.step;
  }
  return {};
}

}  // namespace

std::optional<Error> CheckSnapshotContents(const RunDirectory& run, const PreparedJob& prepared, ThreadPool& pool) {
  const auto steps = run.SnapshotSteps();
  if (!steps) return steps.error();
  for (const std::int64_t step : *steps) {
    if (const auto snapshot = ReadSnapshot(run.SnapshotPath(step), prepared.program.state, pool); !snapshot) {
      return snapshot.error();
    }
  }
  return std::nullopt;
}

Result<std::optional<Refutation>> FindDamage(const RunDirectory& run, const PreparedJob& prepared, const Expectation& expected,
                                             ThreadPool& pool) {
  ASSAY_ASSIGN(auto checked, CheckClaims(run, prepared, expected));
  if (auto* refuted = std::get_if<Refutation>(&checked)) {
    if (!refuted->damage) return std::nullopt;
    return *std::move(refuted);
  }
  const Claims& claims = std::get<Claims>(checked);
  if (const auto error = CheckSnapshotContents(run, prepared, pool)) return DamagedBy(*error);
  if (prepared.job.precision == Precision::kFp64Rounded) {
    if (const Status logs = CheckRoundingLogs(run, claims.log); !logs) return DamagedBy(logs.error());
  }
  const std::int64_t last = prepared.job.steps;
  if (!Exists(run.SnapshotPath(last))) return Damaged(fmt::format("{}: is missing", run.SnapshotPath(last)), last);
  const auto final_state = ReadSnapshot(run.SnapshotPath(last), prepared.program.state, pool);
  if (!final_state) return DamagedBy(final_state.error(), last);
  ASSAY_ASSIGN(auto delivered, CheckWeights(run, prepared, claims, final_state->state, pool));
  if (delivered && !delivered->damage) delivered.reset();
  return delivered;
}

}  // namespace assay
