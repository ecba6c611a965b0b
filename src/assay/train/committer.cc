#include "assay/train/committer.h"

#include <bit>

#include "assay/base/check.h"

namespace assay {

Status Committer::Begin(const State& state) { return Commit(0, state, 0); }

Status Committer::Resume(std::int64_t step, Stepper& stepper) {
  const std::int64_t needed = EntriesAfter(step, prepared_.job.commit_every, prepared_.job.steps);
  next_ = static_cast<std::size_t>(needed);
  if (log_.entries().size() < next_) {
    return Err("the log has {} entries, a run at step {} needs {}", log_.entries().size(), step, needed);
  }
  for (std::int64_t s = log_.entries()[next_ - 1].step; s < step; ++s) {
    batch_roots_.push_back(stepper.BatchRootOf(stepper.Plan(s)));
  }
  return {};
}

Status Committer::Step(std::int64_t step, const State& state, const StepOutcome& outcome) {
  batch_roots_.push_back(outcome.batch_root);
  if (!IsCommitted(step, prepared_.job.commit_every, prepared_.job.steps)) return {};
  return Commit(step, state, std::bit_cast<std::uint32_t>(outcome.loss));
}

Status Committer::Commit(std::int64_t step, const State& state, std::uint32_t loss_bits) {
  LogEntry entry =
      log_.Next(step, StateRootOf(prepared_.program.state, state, backend_), BatchRootOfSteps(batch_roots_), loss_bits);
  if (next_ < log_.entries().size()) {
    const LogEntry& before = log_.entries()[next_];
    entry.previous = before.previous;
    if (entry != before) {
      return Err("step {}: gives state {}, the run's log says {}; the run was altered or this machine computes wrongly", step,
                 entry.state_root.hex(), before.state_root.hex());
    }
  } else {
    log_.Append(entry);
  }
  ++next_;
  batch_roots_.clear();
  return {};
}

}  // namespace assay
