#include "assay/run/snapshot_fit.h"

#include <algorithm>
#include <bit>

namespace assay {

Status CheckFitsLog(const SnapshotInfo& info, const RunLog& log, const CommitSchedule& schedule, const VerifyKey& signer) {
  if (info.trajectory != log.trajectory()) return Err("is a snapshot of another run");
  const std::vector<LogEntry>& entries = log.entries();
  // By its step: where the number of steps changed, the last entry may stand where the schedule has none.
  const auto entry = std::ranges::lower_bound(entries, info.step, {}, &LogEntry::step);
  if (entry == entries.end() || entry->step != info.step) {
    if (info.step > schedule.Reach(static_cast<std::int64_t>(entries.size()))) {
      return Err("is of step {}, which the log does not lead up to", info.step);
    }
    if (!IsSignedBy(info, signer)) return Err("is of a step that the log does not have and not signed by {}", signer.id());
    return {};
  }
  if (entry->state_root != info.state_root) {
    return Err("state root is {}, the log says {}", info.state_root.hex(), entry->state_root.hex());
  }
  if (entry->loss_bits != std::bit_cast<std::uint32_t>(info.loss)) return Err("its loss is not that of the log");
  return {};
}

}  // namespace assay
