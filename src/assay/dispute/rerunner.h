// Rerunner: any state of a run once more, from the nearest one at hand: the one it stands at, one that it kept, a snapshot, the start.
//
// What it keeps is bounded: the state before the step that was observed last, and copies in the host's memory up to a number of bytes. The arguments must
// outlive it. Not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "assay/base/thread_pool.h"
#include "assay/dispute/account.h"
#include "assay/dispute/batch_check.h"
#include "assay/dispute/conduct.h"
#include "assay/dispute/leaf_records.h"
#include "assay/run/log.h"
#include "assay/run/rounding_logs.h"

namespace assay::dispute {

class Rerunner {
 public:
  struct Site {
    const RunDirectory& run;
    const PreparedJob& prepared;
    const RunLog& log;
    Backend& backend;
    ThreadPool& pool;
    Conduct& conduct;
    bool is_honest = true;  // answers from what its log commits to alone
  };
  Rerunner(const Site& site, std::size_t kept_bytes);
  Rerunner(const Rerunner&) = delete;
  Rerunner& operator=(const Rerunner&) = delete;

  // What the run was after each of the steps from + 1 .. to. States on the way are kept, as many as fit, evenly spread.
  Result<std::vector<StepRecord>> Records(std::int64_t from, std::int64_t to);
  // The state after `step` steps, wherever it lies; valid until the next call. Where running again does not lead to what the log says and a snapshot does, the snapshot.
  Result<const State*> At(std::int64_t step);
  // Runs step `step`, counted from 1, before the observer. The state before it is kept.
  Status Observe(std::int64_t step, StepObserver& observer);

  // The batch that the run commits to for a step. An error: the data here is another.
  Result<std::vector<Tensor>> Batch(std::int64_t step);
  Result<Digest> BatchRoot(std::int64_t step);
  // The rounding log of a step.
  Result<Bytes> Rounding(std::int64_t step);
  std::span<const BatchField> batch_fields() const { return honest_.batch_fields(); }
  StepPlan JobsPlan(std::int64_t step) const { return honest_.Plan(step - 1); }

  const Work& work() const { return work_; }

 private:
  struct Held {
    std::int64_t step = 0;
    State state;
  };
  Result<const State*> Recomputed(std::int64_t step);
  Digest RootOf(const State& state) const;
  Status GoTo(std::int64_t step);
  Status Load(std::int64_t step);  // the nearest state at or before it, where that is nearer than the one it stands at
  Result<std::optional<Held>> NearestSnapshot(std::int64_t after, std::int64_t step);
  Result<State> Start() const;
  Result<State> CheckedStart() const;
  Result<StepOutcome> Run();
  void SetState(std::int64_t step, State state);
  State CopyOf(const State& state, MemorySpace& space) const;
  Stepper& used() { return crooked_ ? *crooked_ : honest_; }
  Stepper& committed() { return site_.conduct.admits_batches() ? used() : honest_; }
  StepPlan CommittedPlan(std::int64_t step);

  Site site_;
  std::size_t kept_bytes_;
  Stepper honest_;
  std::optional<Stepper> crooked_;
  std::optional<std::int64_t> step_;  // where it stands
  State state_;                       // there, in the backend's memory
  std::map<std::int64_t, State> kept_;
  std::optional<Held> before_;
  std::optional<Held> said_;  // a snapshot that running again contradicts
  std::optional<RoundingLogs> rounding_;
  struct Roundings {
    std::int64_t entry = 0;
    std::vector<RoundingLeaf> leaves;  // of its steps' logs, as it commits to them
  };
  std::optional<Roundings> roundings_;  // of the entry that was looked at last
  BatchCheck batches_;
  Work work_;
};

}  // namespace assay::dispute
