#include "assay/audit/checked_run.h"

#include <algorithm>

#include "assay/run/receipt.h"

namespace assay {
namespace {

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;
constexpr int kAttempts = 5;  // to read a log that is being written

}  // namespace

std::string_view Name(RunStage stage) {
  switch (stage) {
    case RunStage::kFinished: return "finished";
    case RunStage::kGoingOn: return "going on";
    case RunStage::kUnfinished: return "unfinished";
  }
  return "";
}

std::string_view Name(monitor::RuleState state) {
  switch (state) {
    case monitor::RuleState::kAccepted: return "accepted";
    case monitor::RuleState::kRefused: return "refused";
    case monitor::RuleState::kUnchecked: return "unchecked";
    case monitor::RuleState::kNotApplicable: return "not applicable";
    case monitor::RuleState::kDamaged: return "damaged";
  }
  return "";
}

monitor::RuleState Worst(const std::vector<monitor::RuleResult>& rules) {
  using monitor::RuleState;
  for (const RuleState state : {RuleState::kDamaged, RuleState::kRefused, RuleState::kUnchecked}) {
    if (std::ranges::any_of(rules, [&](const monitor::RuleResult& rule) { return rule.state == state; })) return state;
  }
  return RuleState::kAccepted;
}

Result<RunStage> StageOf(const RunDirectory& run) {
  if (const std::string lock = JoinPath(run.path(), "lock"); Exists(lock)) {
    ASSAY_ASSIGN(const std::optional<FileLock> shared, FileLock::TryShare(lock));
    if (!shared) return RunStage::kGoingOn;
  }
  return Exists(run.receipt_path()) ? RunStage::kFinished : RunStage::kUnfinished;
}

Result<RunLog> ReadRunLog(const RunDirectory& run, bool going_on) {
  if (!RunLog::Exists(run.log_path())) return RunLog(run.identity().trajectory);
  auto log = RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory);
  // Tiles that the old checkpoint needs may go while it is read.
  for (int attempt = 1; going_on && !log && attempt < kAttempts; ++attempt) {
    log = RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory);
  }
  return log;
}

Status CheckReceiptFits(const RunDirectory& run, const RunLog& log) {
  ASSAY_ASSIGN(const Bytes file, ReadFile(run.receipt_path(), kMaxReceiptBytes));
  ASSAY_ASSIGN(const Receipt receipt,
               OpenReceipt({reinterpret_cast<const char*>(file.data()), file.size()}, run.signer(), run.receipt_path()));
  if (receipt.job != run.identity().job || receipt.log != log.checkpoint())
    return Err("{}: is for another job or another log than the run's", run.receipt_path());
  return {};
}

}  // namespace assay
