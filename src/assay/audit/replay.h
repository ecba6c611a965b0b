// Replay: a run's steps once more, from the start or from one of its snapshots, with what the log says about them at hand.
//
// A snapshot is only a state to start from: it is taken when its root is the log's, and whether the log is right is for the caller to compare. The run,
// the job, the log, the backend and the pool must outlive it. Not synchronised.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/base/thread_pool.h"
#include "assay/run/log.h"
#include "assay/run/rounding_logs.h"
#include "assay/train/stepper.h"

namespace assay {

// What an entry says, as this machine computed it.
struct ReplayedEntry {
  Digest state_root{};
  Digest batch_root{};
  std::uint32_t loss_bits = 0;
  std::optional<Digest> rounding_root{};
};

class Replay {
 public:
  Replay(const RunDirectory& run, const PreparedJob& prepared, const RunLog& log, Backend& backend, ThreadPool& pool);

  // The starting state. An error: the weights that the job names cannot be read here.
  Status Begin();
  // The state after at most `step` steps: the nearest snapshot that is what the log says, or the start. An error: cannot be read here.
  Status Load(std::int64_t step);
  // The first snapshot of more than `step` steps that is what the log says. False: there is none, and nothing has changed.
  Result<bool> LoadAfter(std::int64_t step);
  // Whether the rounding logs of the steps up to the next entry are those that it commits to; asked at a step that has an entry, before the steps are run.
  // What they say is only then their signer's word.
  Status CheckRoundings();
  // Follows the run's rounding log, where its job rounds. An error: there is none that can be read.
  Result<StepOutcome> Step(rounding::Scrutiny scrutiny = rounding::Scrutiny::kFollow);
  // The same before a step that the caller runs on its own.
  Status FollowRoundings(rounding::Scrutiny scrutiny = rounding::Scrutiny::kFollow);
  // From here on rounding logs are left alone: every close call is decided here.
  void IgnoreRoundings();
  // The caller ran the step on state() itself; no entry can be asked for before the next Begin or Load.
  void Skip() { ++step_; }

  std::int64_t step() const { return step_; }  // done
  State& state() { return state_; }            // in the backend's memory
  Stepper& stepper() { return stepper_; }
  const PreparedJob& prepared() const { return stepper_.prepared(); }
  const RunLog& log() const { return log_; }
  Digest Root() const;
  // The log's entry for the steps done, where it has one, and the one before it.
  std::optional<LogEntry> EntryHere() const;
  // What that entry should say, after the step with this outcome.
  ReplayedEntry Entry(const StepOutcome& outcome) const;

 private:
  void SetState(State state);
  Result<bool> LoadSnapshot(std::int64_t step);  // false: it is damaged, or no state to start from
  Status OpenRoundings();

  const RunDirectory& run_;
  const RunLog& log_;
  ThreadPool& pool_;
  Stepper stepper_;
  State state_;
  std::int64_t step_ = 0;
  std::vector<Digest> batch_roots_;  // of the steps since the last entry
  std::optional<RoundingLogs> rounding_;
  std::vector<RoundingLeaf> rounding_logs_;  // of the same steps
  bool ignore_roundings_ = false;
};

}  // namespace assay
