#include "assay/run/steps_done.h"

#include <algorithm>

#include "assay/run/log.h"

namespace assay {

Result<std::int64_t> StepsDone(const RunDirectory& run) {
  std::int64_t done = 0;
  ASSAY_ASSIGN(const std::vector<std::int64_t> snapshots, run.SnapshotSteps());
  if (!snapshots.empty()) done = snapshots.back();
  if (!RunLog::Exists(run.log_path())) return done;
  ASSAY_ASSIGN(const RunLog log, RunLog::Read(run.log_path(), run.signer(), run.identity().trajectory));
  return log.entries().empty() ? done : std::max(done, log.entries().back().step);
}

}  // namespace assay
