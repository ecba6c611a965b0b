// Committer: turns finished steps into log entries. It collects batch roots, and where the job commits, hashes the state and appends an entry.
//
// A run that is taken up again comes with the entries that it had committed before; where it passes them once more, the committer insists that
// the same come out, so a log only ever grows. Not synchronised.
//
// A run that follows another takes its decisions and writes logs of its own, with everything that is close here. As long as both say the same after an entry, and
// the other's logs decide nothing that no correct evaluation decides, it commits to the very logs that it follows, so that the two agree; otherwise to its own. After
// the first entry that differs it follows nobody. So what it commits to is what it did, whatever the other did.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/run/log.h"
#include "assay/run/rounding_logs.h"
#include "assay/train/followed_run.h"
#include "assay/train/stepper.h"

namespace assay {

class Committer {
 public:
  // `log`: what the run has committed so far, empty for a new one; `rounding`: the rounding logs of its steps, if its job rounds.
  // `followed`: a run whose decisions it takes.
  Committer(const PreparedJob& prepared, RunLog log, std::optional<RoundingLogs> rounding, std::optional<FollowedRun> followed,
            Backend& backend)
      : prepared_(prepared),
        backend_(backend),
        log_(std::move(log)),
        rounding_(std::move(rounding)),
        followed_(std::move(followed)) {}

  // Starts from the state before the first step. States are in the backend's memory.
  Status Begin(const State& state);
  // Goes on after `step` steps, whose entries the log has. Batch roots of steps since the last entry are made again from the data.
  Status Resume(std::int64_t step, Stepper& stepper);
  // What the snapshot of a step is signed with, beside the state: the root over the rounding logs of the steps after the last multiple of the commitment
  // interval.
  std::optional<Digest> RoundingRoot() const;
  // Whether the rounding logs on disk are those that a snapshot is signed with. Logs that no entry commits to are bound by nothing else.
  Status CheckRoundings(const SnapshotInfo& info);
  // Before the step after `step` steps: where the run has committed to it already, it will take the same decisions; where it follows another run, that one's.
  Status Prepare(std::int64_t step, Stepper& stepper);
  // Whose decisions the step takes that was prepared last, and whether that may be false without harm.
  const std::string& following() const { return following_; }
  bool follows_another() const { return follows_another_; }
  const std::optional<FollowedRun>& followed() const { return followed_; }
  // The first entry that is not what the followed run says.
  const std::optional<std::size_t>& parted() const { return parted_; }
  // After a step: `step` are done.
  Status Step(std::int64_t step, const State& state, const StepOutcome& outcome);

  // What the log commits to is on disk when it is.
  Status WriteLog(const std::string& path, const std::string& origin, const SigningKey& key);
  const RunLog& log() const { return log_; }

 private:
  Status Commit(std::int64_t step, const State& state, std::uint32_t loss_bits);
  void FindParting();

  const PreparedJob& prepared_;
  Backend& backend_;
  RunLog log_;
  std::size_t next_ = 0;  // the entry that comes next; below the log's size where an earlier process had come further
  std::vector<Digest> batch_roots_;  // of the steps since the last entry
  std::optional<RoundingLogs> rounding_;
  std::optional<FollowedRun> followed_;
  std::string following_;
  bool follows_another_ = false;
  std::optional<std::size_t> parted_;
  std::vector<RoundingLeaf> rounding_logs_;  // of the steps after the last multiple of the commitment interval
};

}  // namespace assay
