#include <bit>

#include "assay/run/log.h"
#include "cheats.h"
#include "tools.h"

namespace assay::attacks {
namespace {

float BetterThan(float loss) { return loss / 10; }

// A snapshot tells the loss too.
Status RewriteSnapshot(const Setting& setting, const RunDirectory& run, std::int64_t step) {
  const std::string path = run.SnapshotPath(step);
  if (!Exists(path)) return {};
  const std::vector<StateSpec>& specs = setting.prepared.program.state;
  ASSAY_ASSIGN(Snapshot snapshot, ReadSnapshot(path, specs, setting.pool));
  snapshot.info.loss = BetterThan(snapshot.info.loss);
  snapshot.info.signature = setting.key.Sign(SignedMessage(snapshot.info));
  return WriteSnapshot(path, specs, snapshot.state, snapshot.info);
}

// Claims a better loss in the first entry from step `setting.at` on. All later entries name another previous one then.
Result<RunLog> Rewrite(const Setting& setting, const RunDirectory& run) {
  ASSAY_ASSIGN(const RunLog log, RunLog::Read(run.log_path(), run.signer(), setting.prepared.identity.trajectory));
  RunLog rewritten(log.trajectory());
  bool done = false;
  for (const LogEntry& entry : log.entries()) {
    std::uint32_t loss_bits = entry.loss_bits;
    if (!done && entry.step >= setting.at) {
      loss_bits = std::bit_cast<std::uint32_t>(BetterThan(std::bit_cast<float>(loss_bits)));
      ASSAY_TRY(RewriteSnapshot(setting, run, entry.step));
      done = true;
    }
    LogEntry next = rewritten.Next(entry.step, entry.state_root, entry.batch_root, loss_bits);
    next.rounding_root = entry.rounding_root;
    rewritten.Append(next);
  }
  ASSAY_TRY(rewritten.Write(run.log_path(), log.checkpoint().origin, setting.key));
  return rewritten;
}

}  // namespace

Result<Hooks> RewrittenLog(const Setting& setting) {
  return Hooks{.finished = [&setting](const RunDirectory& run) -> Status {
    ASSAY_ASSIGN(const RunLog log, Rewrite(setting, run));
    return AmendReceipt(setting, run, [&](Receipt& receipt) {
      receipt.log = log.checkpoint();
      receipt.loss_bits = log.entries().back().loss_bits;
    });
  }};
}

Result<Hooks> RewrittenAfterReceipt(const Setting& setting) {
  return Hooks{.finished = [&setting](const RunDirectory& run) -> Status {
    ASSAY_TRY(Rewrite(setting, run));
    return {};
  }};
}

}  // namespace assay::attacks
