#include "assay/train/committer.h"

#include <algorithm>
#include <bit>

#include "assay/base/check.h"
#include "assay/run/commit_schedule.h"

namespace assay {
namespace {

constexpr std::size_t kMaxPendingBytes = std::size_t{16} << 20;

}  // namespace

// By the entries that an earlier process left.
void Committer::FindParting() {
  for (std::size_t i = 0; followed_ && !parted_ && i < log_.entries().size(); ++i) {
    if (!followed_->Says(i, log_.entries()[i])) parted_ = i;
  }
}

Status Committer::Begin(const State& state) {
  FindParting();
  if (rounding_) ASSAY_TRY(rounding_->RemoveAfter(log_.entries().empty() ? 0 : log_.entries().back().step));
  return Commit(0, state, 0);
}

Status Committer::Resume(std::int64_t step, Stepper& stepper) {
  const std::int64_t needed = CommitSchedule::Of(prepared_.job).EntriesAfter(step);
  next_ = static_cast<std::size_t>(needed);
  if (log_.entries().size() < next_) {
    return Err("the log has {} entries, a run at step {} needs {}", log_.entries().size(), step, needed);
  }
  for (std::int64_t s = log_.entries()[next_ - 1].step; s < step; ++s) {
    batch_roots_.push_back(stepper.BatchRootOf(stepper.Plan(s)));
  }
  if (rounding_) {
    ASSAY_ASSIGN(rounding_logs_, rounding_->Leaves(log_.entries()[next_ - 1].step, step));
  }
  FindParting();
  // Of steps that nothing commits to, what an interrupted process left goes.
  if (rounding_) ASSAY_TRY(rounding_->RemoveAfter(std::max(step, log_.entries().back().step)));
  return {};
}

std::optional<Digest> Committer::RoundingRoot() const {
  return rounding_ ? std::optional(RoundingRootOfSteps(rounding_logs_)) : std::nullopt;
}

Status Committer::CheckRoundings(const SnapshotInfo& info) {
  if (!rounding_) return {};
  if (!info.rounding_root) return Err("is not signed with its rounding logs");
  const std::int64_t every = prepared_.job.commit_every;
  ASSAY_ASSIGN(const std::vector<RoundingLeaf> logs, rounding_->Leaves(info.step / every * every, info.step));
  if (RoundingRootOfSteps(logs) != *info.rounding_root) return Err("is signed with other rounding logs than there are");
  return {};
}

Status Committer::Prepare(std::int64_t step, Stepper& stepper) {
  const bool passed = !log_.entries().empty() && step < log_.entries().back().step;
  const std::string what = fmt::format("rounding log of step {}", step + 1);
  follows_another_ = rounding_ && followed_ && !passed && !parted_;
  if (follows_another_) {
    ASSAY_ASSIGN(const Bytes log, followed_->Read(step + 1));
    following_ = fmt::format("the rounding log of {}", followed_->name());
    return stepper.AmendRoundings(log, what);
  }
  if (!rounding_ || !passed) return {};
  ASSAY_ASSIGN(const Bytes log, rounding_->Read(step + 1));
  following_ = "the run's own rounding log, which was altered or not made by this program,";
  return stepper.FollowRoundings(log, what);
}

Status Committer::WriteLog(const std::string& path, const std::string& origin, const SigningKey& key) {
  if (rounding_) ASSAY_TRY(rounding_->Write());
  return log_.Write(path, origin, key);
}

Status Committer::Step(std::int64_t step, const State& state, const StepOutcome& outcome) {
  batch_roots_.push_back(outcome.batch_root);
  if (rounding_) {
    const rounding::StepReport& report = outcome.rounding->report;
    // A log of somebody else that was refused somewhere is not one of this run.
    const bool refused = follows_another_ && report.inadmissible && report.own;
    const Bytes& log = refused ? *report.own : report.log;
    rounding_logs_.push_back(RoundingLeafOf(log));
    if (next_ >= log_.entries().size() || step > log_.entries().back().step) rounding_->Add(step, log);
    if (rounding_->pending_bytes() > kMaxPendingBytes) ASSAY_TRY(rounding_->Write());
  }
  if (!CommitSchedule::Of(prepared_.job).IsCommitted(step)) return {};
  return Commit(step, state, std::bit_cast<std::uint32_t>(outcome.loss));
}

Status Committer::Commit(std::int64_t step, const State& state, std::uint32_t loss_bits) {
  LogEntry entry =
      log_.Next(step, StateRootOf(prepared_.program.state, state, backend_), BatchRootOfSteps(batch_roots_), loss_bits);
  if (rounding_ && followed_ && !parted_ && next_ >= log_.entries().size() && !followed_->Says(next_, entry)) parted_ = next_;
  if (rounding_) entry.rounding_root = RoundingRootOfSteps(rounding_logs_);
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
  // The last entry may lie between: its snapshot is still one of a longer job.
  if (step % prepared_.job.commit_every == 0) rounding_logs_.clear();
  return {};
}

}  // namespace assay
