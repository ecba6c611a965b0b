// CommitSchedule: after which steps a run has an entry in its log, and how far the log leads that has so many of them. Value type; pure functions.
//
// The starting state is committed, then every `commit_every`-th step and the last. An entry's place and its step follow from each other.
#pragma once

#include <cstdint>

#include "assay/job/job.h"

namespace assay {

struct CommitSchedule {
  std::int64_t commit_every = 1;  // at least 1
  std::int64_t steps = 0;         // of the whole run

  static CommitSchedule Of(const Job& job) { return {.commit_every = job.commit_every, .steps = job.steps}; }
  // Of a run whose number of steps is not known: it goes on beyond whatever is asked about.
  static CommitSchedule Endless(std::int64_t commit_every) {
    return {.commit_every = commit_every, .steps = std::int64_t{1} << 62};
  }

  // Whether there is an entry after `step` steps.
  bool IsCommitted(std::int64_t step) const;
  // How many entries a finished run has.
  std::int64_t entries() const { return EntriesAfter(steps); }
  // How many have been made once `step` steps are done; the last of them is of the last committed step up to `step`. 0 <= step <= steps.
  std::int64_t EntriesAfter(std::int64_t step) const;
  // The step of entry `index`.
  std::int64_t StepOfEntry(std::int64_t index) const;
  // The last step that a log of its first `count` entries leads up to: one more would need the next entry. -1 when there are none.
  std::int64_t Reach(std::int64_t count) const;

  friend bool operator==(const CommitSchedule&, const CommitSchedule&) = default;
};

}  // namespace assay
