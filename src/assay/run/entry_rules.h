// EntryRules: what an entry of a log has to be by its job and its place, whatever it says about the run. Trainer, auditor, fsck and referee ask here, so that
// they agree on what a log is. Value type; pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "assay/job/job.h"
#include "assay/run/commit_schedule.h"
#include "assay/run/entry.h"

namespace assay {

struct EntryRules {
  CommitSchedule schedule;
  bool rounded = false;  // an fp64-rounded job: entries have a rounding root

  static EntryRules Of(const Job& job);
};

// Entry `index` is there in a run of the job, is of its step, has a rounding root if and only if the job rounds, and says nothing about batch, loss or
// roundings where no step was done. The error reads on after "entry 3 of the log".
Status CheckEntryForm(const EntryRules& rules, std::int64_t index, const LogEntry& entry);
// And it names the one before it: `previous` is that one's hash; of the first, the trajectory id.
Status CheckEntry(const EntryRules& rules, std::int64_t index, const LogEntry& entry, const Digest& previous);

// The first entry that is not as it should be, and what is wrong with it.
struct WrongEntry {
  std::int64_t index = 0;
  std::string what;
};
std::optional<WrongEntry> FindWrongEntry(const EntryRules& rules, std::span<const LogEntry> entries, const Digest& trajectory);

}  // namespace assay
