#include "assay/run/commit_schedule.h"

#include "assay/base/check.h"

namespace assay {

bool CommitSchedule::IsCommitted(std::int64_t step) const {
  return step == steps || (step >= 0 && step < steps && step % commit_every == 0);
}

std::int64_t CommitSchedule::EntriesAfter(std::int64_t step) const {
  ASSAY_CHECK(step >= 0 && step <= steps);
  const std::int64_t on_grid = step / commit_every + 1;
  return step == steps && step % commit_every != 0 ? on_grid + 1 : on_grid;
}

std::int64_t CommitSchedule::StepOfEntry(std::int64_t index) const {
  return index > steps / commit_every ? steps : index * commit_every;
}

std::int64_t CommitSchedule::Reach(std::int64_t count) const {
  if (count >= entries()) return steps;
  return (count > steps / commit_every ? steps : count * commit_every) - 1;
}

}  // namespace assay
