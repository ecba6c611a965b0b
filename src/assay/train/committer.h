// Committer: turns finished steps into log entries. It collects batch roots, and where the job commits, hashes the state and appends an entry.
//
// A run that is taken up again comes with the entries that it had committed before; where it passes them once more, the committer insists that
// the same come out, so a log only ever grows. Not synchronised.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/run/log.h"
#include "assay/train/stepper.h"

namespace assay {

class Committer {
 public:
  // `log`: what the run has committed so far, empty for a new one.
  Committer(const PreparedJob& prepared, RunLog log, Backend& backend)
      : prepared_(prepared), backend_(backend), log_(std::move(log)) {}

  // Starts from the state before the first step. States are in the backend's memory.
  Status Begin(const State& state);
  // Goes on after `step` steps, whose entries the log has. Batch roots of steps since the last entry are made again from the data.
  Status Resume(std::int64_t step, Stepper& stepper);
  // After a step: `step` are done.
  Status Step(std::int64_t step, const State& state, const StepOutcome& outcome);

  RunLog& log() { return log_; }
  const RunLog& log() const { return log_; }

 private:
  Status Commit(std::int64_t step, const State& state, std::uint32_t loss_bits);

  const PreparedJob& prepared_;
  Backend& backend_;
  RunLog log_;
  std::size_t next_ = 0;  // the entry that comes next; below the log's size where an earlier process had come further
  std::vector<Digest> batch_roots_;  // of the steps since the last entry
};

}  // namespace assay
