// Whether a snapshot fits a log: the one check that training goes by before it goes on from a snapshot, and audits, disputes and fsck before they believe
// one. Pure functions.
#pragma once

#include "assay/base/result.h"
#include "assay/run/commit_schedule.h"
#include "assay/run/log.h"
#include "assay/run/snapshot.h"

namespace assay {

// At a step that the log has an entry of, the snapshot's root and loss are the entry's; at any other that the log leads up to, it is signed by the log's
// signer. `schedule` is that of the job, Endless where the log is of another number of steps. The error reads on after the file's name.
Status CheckFitsLog(const SnapshotInfo& info, const RunLog& log, const CommitSchedule& schedule, const VerifyKey& signer);

}  // namespace assay
