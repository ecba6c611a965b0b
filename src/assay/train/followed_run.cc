#include "assay/train/followed_run.h"

#include "assay/run/directory.h"
#include "assay/run/entry_rules.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;

}  // namespace

Result<FollowedRun> FollowedRun::Open(const RunDirectory& run, const PreparedJob& prepared) {
  if (prepared.job.precision != Precision::kFp64Rounded) {
    return Err("{}: jobs of this precision have no rounding log to follow", run.path());
  }
  if (run.identity().job != prepared.identity.job) return Err("{}: is a run of another job", run.path());
  if (!Exists(run.receipt_path())) {
    return Err("{}: has no receipt: its training is not finished, and only a finished run can be followed", run.path());
  }
  ASSAY_ASSIGN(const Bytes file, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  ASSAY_ASSIGN(const Receipt receipt,
               OpenReceipt({reinterpret_cast<const char*>(file.data()), file.size()}, run.signer(), run.receipt_path()));
  const EntryRules rules = EntryRules::Of(prepared.job);
  const auto most = static_cast<std::uint64_t>(rules.schedule.entries());
  ASSAY_ASSIGN(const RunLog log, RunLog::Read(run.log_path(), run.signer(), prepared.identity.trajectory, most));
  if (const auto wrong = FindWrongEntry(rules, log.entries(), log.trajectory())) {
    return Err("{}: entry {} {}", run.log_path(), wrong->index, wrong->what);
  }
  if (log.entries().size() != most || receipt.log != log.checkpoint() || receipt.job != prepared.identity.job) {
    return Err("{}: is not the receipt of the log beside it", run.receipt_path());
  }
  ASSAY_ASSIGN(RoundingLogs logs, RoundingLogs::Open(run.rounding_path()));
  return FollowedRun(run.path(), {.signer = run.signer().ToString(), .log_root = log.root()}, log.entries(),
                     rules.schedule.commit_every, std::move(logs));
}

// All logs that an entry commits to, once for each entry.
Status FollowedRun::Compare(std::size_t entry) {
  const std::int64_t from = entries_[entry - 1].step, to = entries_[entry].step;
  ASSAY_ASSIGN(leaves_, logs_.Leaves(from, to));
  if (RoundingRootOfSteps(leaves_) != *entries_[entry].rounding_root) {
    return Err("{}: the rounding logs of steps {} to {} are not the ones that its signed log commits to", path_, from + 1, to);
  }
  compared_ = entry;
  return {};
}

Result<Bytes> FollowedRun::Read(std::int64_t step) {
  const auto entry = static_cast<std::size_t>((step + commit_every_ - 1) / commit_every_);
  if (step < 1 || entry >= entries_.size()) return Err("{}: has no step {}", path_, step);
  if (entry != compared_) ASSAY_TRY(Compare(entry));
  ASSAY_ASSIGN(Bytes log, logs_.Read(step));
  if (RoundingLeafOf(log) != leaves_[static_cast<std::size_t>(step - 1 - entries_[entry - 1].step)]) {
    return Err("{}: the rounding log of step {} changes while it is followed", path_, step);
  }
  return log;
}

}  // namespace assay
