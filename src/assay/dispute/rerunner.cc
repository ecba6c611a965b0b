#include "assay/dispute/rerunner.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "assay/base/check.h"
#include "assay/base/file.h"
#include "assay/data/batch_root.h"
#include "assay/run/commit_schedule.h"
#include "assay/run/snapshot_fit.h"
#include "assay/train/starting_weights.h"

namespace assay::dispute {
namespace {

std::size_t BytesOf(const Program& program) {
  std::size_t bytes = 0;
  for (const StateSpec& spec : program.state) bytes += spec.type.bytes();
  return bytes;
}

// How far apart `count` places must lie for at most `room` of them to be taken; 0: there is no room for one.
std::int64_t Stride(std::int64_t count, std::size_t room) {
  if (room == 0) return 0;
  const auto places = static_cast<std::int64_t>(std::min<std::size_t>(room, INT64_MAX));
  return std::max<std::int64_t>(1, (count + places - 1) / places);
}

// Ends also where memory runs out.
class Observation {
 public:
  Observation(Stepper& stepper, StepObserver& observer) : stepper_(stepper) { stepper_.Observe(&observer); }
  ~Observation() { stepper_.Observe(nullptr); }
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

 private:
  Stepper& stepper_;
};

}  // namespace

Rerunner::Rerunner(const Site& site, std::size_t kept_bytes)
    : site_(site),
      kept_bytes_(kept_bytes),
      honest_(site.prepared, site.backend),
      batches_(site.prepared, site.log, site.pool,
               [this](std::int64_t step) { return honest_.BatchRootOf(honest_.Plan(step - 1)); }) {
  if (const PreparedJob* used = site.conduct.used()) crooked_.emplace(*used, site.backend);
}

State Rerunner::CopyOf(const State& state, MemorySpace& space) const {
  State copy;
  for (const Tensor& tensor : state) copy.push_back(tensor.CopyTo(space));
  return copy;
}

void Rerunner::SetState(std::int64_t step, State state) {
  step_.reset();
  state_.clear();  // a device may not hold both
  state_ = MoveTo(site_.backend.memory(), std::move(state));
  step_ = step;
}

// The starting weights may have changed since their hash was checked, as the data may. What the log begins with is right as long as they are.
Result<State> Rerunner::CheckedStart() const {
  auto start = StartingState(site_.prepared);
  const std::string& path = site_.prepared.job.init_weights;
  if (path.empty() || !site_.is_honest) return start;
  if (start && RootOf(*start) == site_.log.entries().front().state_root) return start;
  Allowance everything;
  const auto weights = WeightFiles::Open(path, everything);
  const auto identity = weights ? IdentityOf(*weights, everything) : tl::unexpected(weights.error());
  if (start && identity && *identity == site_.prepared.inputs.weights) return start;
  return tl::unexpected(Error{fmt::format("{}: is not what the run started from", path), true});
}

Result<State> Rerunner::Start() const {
  ASSAY_ASSIGN(State start, CheckedStart());
  ASSAY_TRY(site_.conduct.Start(start));
  return start;
}

// The newest snapshot of more than `after` and at most `step` steps, if there is one.
Result<std::optional<Rerunner::Held>> Rerunner::NearestSnapshot(std::int64_t after, std::int64_t step) {
  ASSAY_ASSIGN(const std::vector<std::int64_t> steps, site_.run.SnapshotSteps());
  if (std::ranges::none_of(steps, [&](std::int64_t s) { return s > after && s <= step; })) return std::nullopt;
  const auto accept = [&](const SnapshotInfo& info) {
    return CheckFitsLog(info, site_.log, CommitSchedule::Of(site_.prepared.job), site_.run.signer());
  };
  ASSAY_ASSIGN(auto snapshot,
               site_.run.NewestSnapshot(site_.prepared.program.state, step, site_.pool, accept, [](const std::string&) {}));
  if (!snapshot || snapshot->info.step <= after) return std::nullopt;
  return Held{snapshot->info.step, std::move(snapshot->state)};
}

Status Rerunner::Load(std::int64_t step) {
  std::int64_t best = step_ && *step_ <= step ? *step_ : -1;
  const State* copy = nullptr;
  if (before_ && before_->step <= step && before_->step > best) {
    best = before_->step;
    copy = &before_->state;
  }
  if (auto next = kept_.upper_bound(step); next != kept_.begin() && std::prev(next)->first > best) {
    best = std::prev(next)->first;
    copy = &std::prev(next)->second;
  }
  ASSAY_ASSIGN(std::optional<Held> snapshot, NearestSnapshot(best, step));
  if (snapshot) {
    SetState(snapshot->step, std::move(snapshot->state));
  } else if (copy != nullptr) {
    SetState(best, CopyOf(*copy, HostMemory()));
  } else if (best < 0) {
    ASSAY_ASSIGN(State start, Start());
    SetState(0, std::move(start));
  }
  return {};
}

Result<StepOutcome> Rerunner::Run() {
  const std::int64_t step = *std::exchange(step_, std::nullopt);  // where a step fails, the state is none
  if (site_.is_honest) ASSAY_TRY(batches_.Root(step + 1));        // what has gone bad need not be run on
  if (site_.prepared.job.precision == Precision::kFp64Rounded) {
    ASSAY_ASSIGN(const Bytes log, Rounding(step + 1));
    ASSAY_TRY(used().FollowRoundings(log, fmt::format("rounding log of step {}", step + 1)));
  }
  ASSAY_ASSIGN(StepOutcome outcome, site_.conduct.Step(used(), state_, step));
  if (site_.is_honest) ASSAY_TRY(batches_.Check(step + 1, outcome.batch_root));
  step_ = step + 1;
  return outcome;
}

// The logs of an entry's steps are those that it commits to, or this copy has gone bad and nothing is to be signed: a failure of this machine, whatever the file
// holds. They are compared each time: they may go bad at any time.
Result<Bytes> Rerunner::Rounding(std::int64_t step) {
  const auto gone_bad = [](std::string why) { return tl::unexpected(Error{std::move(why), true}); };
  if (!rounding_) {
    ASSAY_ASSIGN(rounding_, RoundingLogs::Open(site_.run.rounding_path()));
  }
  const CommitSchedule schedule = CommitSchedule::Of(site_.prepared.job);
  const std::int64_t entry = schedule.EntriesAfter(step - 1), from = schedule.StepOfEntry(entry - 1);
  const auto other = [&] {
    return fmt::format("{}: the rounding log of step {} is not the one that the log commits to", site_.run.rounding_path(),
                       step);
  };
  if (!roundings_ || roundings_->entry != entry) {
    roundings_.reset();
    auto leaves = rounding_->Leaves(from, schedule.StepOfEntry(entry));
    if (!leaves) return gone_bad(leaves.error().message);
    if (site_.log.entries().at(static_cast<std::size_t>(entry)).rounding_root != RoundingRootOfSteps(*leaves))
      return gone_bad(other());
    roundings_ = {entry, std::move(*leaves)};
  }
  auto log = rounding_->Read(step);
  if (!log) return gone_bad(log.error().message);
  if (RoundingLeafOf(*log) != roundings_->leaves.at(static_cast<std::size_t>(step - from - 1))) return gone_bad(other());
  return log;
}

Status Rerunner::GoTo(std::int64_t step) {
  ASSAY_TRY(Load(step));
  while (*step_ < step) {
    ++work_.steps_run;
    ASSAY_TRY(Run());
  }
  return {};
}

Result<std::vector<StepRecord>> Rerunner::Records(std::int64_t from, std::int64_t to) {
  ASSAY_TRY(GoTo(from));
  kept_.clear();
  const std::int64_t stride = Stride(to - from, kept_bytes_ / std::max<std::size_t>(1, BytesOf(site_.prepared.program)));
  std::vector<StepRecord> records;
  for (std::int64_t step = from; step < to; ++step) {
    if (stride > 0 && (step - from) % stride == 0) kept_.emplace(step, CopyOf(state_, HostMemory()));
    ++work_.steps_run;
    ASSAY_ASSIGN(const StepOutcome outcome, Run());
    records.push_back({.step = step + 1,
                       .state_root = StateRootOf(site_.prepared.program.state, state_, site_.backend),
                       .loss_bits = std::bit_cast<std::uint32_t>(outcome.loss)});
  }
  return records;
}

Result<const State*> Rerunner::At(std::int64_t step) {
  ASSAY_ASSIGN(const State* state, Recomputed(step));
  const CommitSchedule schedule = CommitSchedule::Of(site_.prepared.job);
  if (!schedule.IsCommitted(step)) return state;
  const auto entry = static_cast<std::size_t>(schedule.EntriesAfter(step) - 1);
  const Digest committed_root = site_.log.entries().at(entry).state_root;
  if (RootOf(*state) == committed_root) return state;
  // Running again does not lead to what the run committed to; its own snapshot may.
  ASSAY_ASSIGN(std::optional<Held> snapshot, NearestSnapshot(step - 1, step));
  if (!snapshot) return state;
  said_ = std::move(snapshot);
  return &said_->state;
}

Digest Rerunner::RootOf(const State& state) const {
  const bool host = std::ranges::all_of(state, [](const Tensor& tensor) { return tensor.space().is_host(); });
  const auto& specs = site_.prepared.program.state;
  return host ? StateRootOf(specs, state, site_.pool) : StateRootOf(specs, state, site_.backend);
}

Result<const State*> Rerunner::Recomputed(std::int64_t step) {
  if (step_ == step) return &state_;
  if (before_ && before_->step == step) return &before_->state;
  if (const auto found = kept_.find(step); found != kept_.end()) return &found->second;
  ASSAY_TRY(GoTo(step));
  return &state_;
}

Status Rerunner::Observe(std::int64_t step, StepObserver& observer) {
  ASSAY_TRY(GoTo(step - 1));
  if (!before_ || before_->step != step - 1) before_ = Held{step - 1, CopyOf(state_, HostMemory())};
  ++work_.steps_traced;
  const Observation observation(used(), observer);
  ASSAY_TRY(Run());
  return {};
}

StepPlan Rerunner::CommittedPlan(std::int64_t step) {
  return site_.conduct.admits_batches() ? site_.conduct.Plan(used(), step - 1) : honest_.Plan(step - 1);
}

Result<std::vector<Tensor>> Rerunner::Batch(std::int64_t step) {
  ++work_.batches_loaded;
  std::vector<Tensor> batch = committed().BatchOf(CommittedPlan(step));
  if (!site_.is_honest) return batch;
  std::vector<std::string> names;
  for (const BatchField& field : batch_fields()) names.push_back(field.name);
  ASSAY_TRY(batches_.Check(step, assay::BatchRoot(std::move(names), batch)));
  return batch;
}

Result<Digest> Rerunner::BatchRoot(std::int64_t step) {
  ++work_.batches_loaded;
  if (site_.is_honest) return batches_.Root(step);
  return committed().BatchRootOf(CommittedPlan(step));
}

}  // namespace assay::dispute
