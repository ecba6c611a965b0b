#include "assay/audit/replay.h"

#include <bit>

#include "assay/base/check.h"
#include "assay/run/snapshot_fit.h"

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
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, run_.SnapshotSteps());
  for (auto at = steps.rbegin(); at != steps.rend(); ++at) {
    if (*at > step) continue;
    ASSAY_ASSIGN(const bool is_loaded, LoadSnapshot(*at));
    if (is_loaded) return {};
  }
  return Begin();
}

Result<bool> Replay::LoadAfter(std::int64_t step) {
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, run_.SnapshotSteps());
  for (const std::int64_t at : steps) {
    if (at <= step) continue;
    ASSAY_ASSIGN(const bool is_loaded, LoadSnapshot(at));
    if (is_loaded) return true;
  }
  return false;
}

Result<bool> Replay::LoadSnapshot(std::int64_t step) {
  const CommitSchedule schedule = CommitSchedule::Of(prepared().job);
  if (!schedule.IsCommitted(step) || schedule.Reach(static_cast<std::int64_t>(log_.entries().size())) < step) return false;
  auto snapshot = ReadSnapshot(run_.SnapshotPath(step), prepared().program.state, pool_);
  if (!snapshot && snapshot.error().system) return tl::unexpected(snapshot.error());
  // A damaged one is nobody's; what it would have saved is run again.
  if (!snapshot || snapshot->info.step != step || !CheckFitsLog(snapshot->info, log_, schedule, run_.signer())) return false;
  SetState(std::move(snapshot->state));
  step_ = step;
  batch_roots_.clear();
  rounding_logs_.clear();
  return true;
}

void Replay::IgnoreRoundings() {
  ignore_roundings_ = true;
  stepper_.IgnoreRoundings();
}

Status Replay::OpenRoundings() {
  if (rounding_) return {};
  ASSAY_ASSIGN(rounding_, RoundingLogs::Open(run_.rounding_path()));
  return {};
}

Status Replay::CheckRoundings() {
  const CommitSchedule schedule = CommitSchedule::Of(prepared().job);
  if (prepared().job.precision != Precision::kFp64Rounded || !schedule.IsCommitted(step_)) return {};
  const auto next = static_cast<std::size_t>(schedule.EntriesAfter(step_));
  if (next >= log_.entries().size()) return {};
  ASSAY_TRY(OpenRoundings());
  const LogEntry& entry = log_.entries()[next];
  ASSAY_ASSIGN(const std::vector<RoundingLeaf> logs, rounding_->Leaves(step_, entry.step));
  if (entry.rounding_root == RoundingRootOfSteps(logs)) return {};
  return Err("{}: the rounding logs of steps {} to {} are not those of the log", run_.rounding_path(), step_ + 1, entry.step);
}

Status Replay::FollowRoundings(rounding::Scrutiny scrutiny) {
  if (prepared().job.precision != Precision::kFp64Rounded) return {};
  ASSAY_TRY(OpenRoundings());
  ASSAY_ASSIGN(const Bytes log, rounding_->Read(step_ + 1));
  rounding_logs_.push_back(RoundingLeafOf(log));
  if (ignore_roundings_) return {};
  return stepper_.FollowRoundings(log, fmt::format("rounding log of step {}", step_ + 1), scrutiny);
}

Result<StepOutcome> Replay::Step(rounding::Scrutiny scrutiny) {
  if (CommitSchedule::Of(prepared().job).IsCommitted(step_)) {
    batch_roots_.clear();
    rounding_logs_.clear();
  }
  ASSAY_TRY(FollowRoundings(scrutiny));
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
  const CommitSchedule schedule = CommitSchedule::Of(prepared().job);
  if (!schedule.IsCommitted(step_)) return std::nullopt;
  return log_.entries()[static_cast<std::size_t>(schedule.EntriesAfter(step_) - 1)];
}

ReplayedEntry Replay::Entry(const StepOutcome& outcome) const {
  return {.state_root = Root(),
          .batch_root = BatchRootOfSteps(batch_roots_),
          .loss_bits = std::bit_cast<std::uint32_t>(outcome.loss),
          .rounding_root = outcome.rounding ? std::optional(RoundingRootOfSteps(rounding_logs_)) : std::nullopt};
}

}  // namespace assay
