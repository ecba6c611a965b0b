#include "assay/train/replay.h"

#include <bit>

#include "assay/base/check.h"

namespace assay {

Replay::Replay(const RunDirectory& run, const PreparedJob& prepared, const RunLog& log, Backend& backend, ThreadPool& pool)
    : run_(run), log_(log), pool_(pool), stepper_(prepared, backend) {}

Status Replay::Begin() {
  ASSAY_ASSIGN(State start, StartingState(prepared()));
  SetState(std::move(start));
  step_ = 0;
  batch_roots_.clear();
  rounding_logs_.clear();
  return {};
}

Status Replay::Load(std::int64_t step) {
  const Job& job = prepared().job;
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, run_.SnapshotSteps());
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    if (*at > step || !IsCommitted(*at, job.commit_every, job.steps)) continue;
    const auto index = static_cast<std::size_t>(EntriesAfter(*at, job.commit_every, job.steps) - 1);
    if (index >= log_.entries().size()) continue;
    ASSAY_ASSIGN(Snapshot snapshot, ReadSnapshot(run_.SnapshotPath(*at), prepared().program.state, pool_));
    const Digest& said = log_.entries()[index].state_root;
    if (snapshot.info.state_root != said) {
      return Err("step {}: the snapshot's state root is {:.16}, the log says {:.16}", *at, snapshot.info.state_root.hex(),
                 said.hex());
    }
    SetState(std::move(snapshot.state));
    step_ = *at;
    batch_roots_.clear();
    rounding_logs_.clear();
    return {};
  }
  return Begin();
}

void Replay::IgnoreRoundings() {
  ignore_roundings_ = true;
  stepper_.IgnoreRoundings();
}

Status Replay::FollowRoundings() {
  if (prepared().job.precision != Precision::kFp64Rounded) return {};
  if (!rounding_) {
    ASSAY_ASSIGN(rounding_, RoundingLogs::Open(run_.rounding_path()));
  }
  ASSAY_ASSIGN(const Bytes log, rounding_->Read(step_ + 1));
  rounding_logs_.push_back(RoundingLeafOf(log));
  if (ignore_roundings_) return {};
  return stepper_.FollowRoundings(log, fmt::format("rounding log of step {}", step_ + 1));
}

Result<StepOutcome> Replay::Step() {
  const Job& job = prepared().job;
  if (IsCommitted(step_, job.commit_every, job.steps)) {
    batch_roots_.clear();
    rounding_logs_.clear();
  }
  ASSAY_TRY(FollowRoundings());
  StepOutcome outcome = stepper_.Run(state_, stepper_.Plan(step_));
  batch_roots_.push_back(outcome.batch_root);
  ++step_;
  return outcome;
}

void Replay::SetState(State state) {
  state_.clear();  // a device may not hold both
  state_ = MoveTo(stepper_.backend().memory(), std::move(state));
}

Digest Replay::Root() const { return StateRootOf(stepper_.prepared().program.state, state_, stepper_.backend()); }

std::optional<LogEntry> Replay::EntryHere() const {
  const Job& job = stepper_.prepared().job;
  if (!IsCommitted(step_, job.commit_every, job.steps)) return std::nullopt;
  return log_.entries()[static_cast<std::size_t>(EntriesAfter(step_, job.commit_every, job.steps) - 1)];
}

ReplayedEntry Replay::Entry(const StepOutcome& outcome) const {
  return {.state_root = Root(),
          .batch_root = BatchRootOfSteps(batch_roots_),
          .loss_bits = std::bit_cast<std::uint32_t>(outcome.loss),
          .rounding_root = outcome.rounding ? std::optional(RoundingRootOfSteps(rounding_logs_)) : std::nullopt};
}

}  // namespace assay
