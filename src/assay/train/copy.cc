#include "assay/train/copy.h"

#include "assay/base/file.h"
#include "assay/run/rounding_logs.h"
#include "assay/run/snapshot.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;

using Damage = Result<std::optional<Refutation>>;

Damage Damaged(std::string reason, std::optional<std::int64_t> step = std::nullopt) {
  return Refutation{.reason = std::move(reason), .damage = true, .step = step};
}

// What this machine cannot read is an error; a file that is not as it must be is damaged.
Damage DamagedBy(const Error& error, std::optional<std::int64_t> step = std::nullopt) {
  if (error.system) return tl::unexpected(error);
  return Damaged(error.message, step);
}

// Parts of different runs in one directory, each signed honestly for what it is: whoever put them together need not be the signer.
Damage CheckTogether(const RunDirectory& run) {
  ASSAY_ASSIGN(const Bytes file, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const auto receipt = OpenReceipt(text, run.signer(), run.receipt_path());
  if (!receipt) return DamagedBy(receipt.error());
  if (receipt->job != run.identity().job) {
    return Damaged(
        fmt::format("the receipt is for another job, {:.16}, not for {:.16}", receipt->job.hex(), run.identity().job.hex()));
  }
  const auto log = RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory);
  if (log && log->checkpoint() != receipt->log) return Damaged("the receipt's log is not that of the run");
  return std::nullopt;
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
    if (refuted->damage) return *std::move(refuted);
    return CheckTogether(run);
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
