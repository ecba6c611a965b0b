#include "assay/run/log.h"
#include "cheats.h"
#include "tools.h"

namespace assay::attacks {
namespace {

// Nobody is to see what happened from step `setting.at` on: its entries and snapshots go.
Result<RunLog> Truncate(const Setting& setting, const RunDirectory& run) {
  ASSAY_ASSIGN(RunLog log, RunLog::Read(run.log_path(), run.signer(), setting.prepared.identity.trajectory));
  std::size_t size = 0;
  while (log.entries()[size].step < setting.at) ++size;
  log.Truncate(size);
  ASSAY_TRY(log.Write(run.log_path(), log.checkpoint().origin, setting.key));
  ASSAY_ASSIGN(const std::vector<std::int64_t> snapshots, run.SnapshotSteps());
  for (const std::int64_t step : snapshots) {
    if (step >= setting.at) ASSAY_TRY(RemoveFile(run.SnapshotPath(step)));
  }
  return log;
}

}  // namespace

Result<Hooks> TruncatedLog(const Setting& setting) {
  return Hooks{.finished = [&setting](const RunDirectory& run) -> Status {
    ASSAY_ASSIGN(const RunLog log, Truncate(setting, run));
    return AmendReceipt(setting, run, [&](Receipt& receipt) {
      receipt.log = log.checkpoint();
      receipt.final_state_root = log.entries().back().state_root;
      receipt.loss_bits = log.entries().back().loss_bits;
    });
  }};
}

// What an honest run looked like on the way, which anybody may have kept.
Result<Hooks> EarlierLog(const Setting& setting) {
  return Hooks{.finished = [&setting](const RunDirectory& run) -> Status {
    ASSAY_TRY(Truncate(setting, run));
    return {};
  }};
}

}  // namespace assay::attacks
