#include "assay/train/trainer.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <utility>

#include "assay/monitor/speed.h"
#include "assay/monitor/usage.h"
#include "assay/run/entry_rules.h"
#include "assay/run/events.h"
#include "assay/run/follows.h"
#include "assay/run/receipt.h"
#include "assay/run/snapshot_fit.h"
#include "assay/run/weights_root.h"
#include "assay/train/committer.h"
#include "assay/train/evaluate.h"
#include "assay/train/stepper.h"
#include "assay/train/weights.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMaxReceiptBytes = 1 << 16;

// The log that a run goes on with: what is on disk as far as it fits this job's schedule. A job with another number of steps may
// leave out the last entry of the shorter one; what is on disk then has to follow before anything is appended.
Result<RunLog> OpenLog(const PreparedJob& prepared, const RunDirectory& run, const SigningKey& key) {
  RunLog log(prepared.identity.trajectory);
  if (!RunLog::Exists(run.log_path())) return log;
  ASSAY_ASSIGN(log, RunLog::Read(run.log_path(), run.signer(), prepared.identity.trajectory));
  const std::string origin = LogOrigin(run.signer(), prepared.identity.job);
  const bool current = log.checkpoint().origin == origin;
  EntryRules rules = EntryRules::Of(prepared.job);
  const EntryRules ours = rules;
  // How many steps the job had that another log is of is not known; its last entry may be of the last.
  if (!current && !log.entries().empty()) rules.schedule.steps = log.entries().back().step;
  if (const auto wrong = FindWrongEntry(rules, log.entries(), log.trajectory())) {
    return Err("{}: entry {} {}", run.log_path(), wrong->index, wrong->what);
  }
  if (current) {
    ASSAY_TRY(log.Tidy(run.log_path()));
    return log;
  }
  const auto extra = FindWrongEntry(ours, log.entries(), log.trajectory());
  const std::int64_t fitting = extra ? extra->index : static_cast<std::int64_t>(log.entries().size());
  // Snapshots that this log does not lead up to go first, so that none is ever without its log.
  ASSAY_TRY(run.RemoveSnapshotsAfter(ours.schedule.Reach(fitting)));
  log.Truncate(static_cast<std::size_t>(fitting));
  ASSAY_TRY(log.Write(run.log_path(), origin, key));
  return log;
}

// Whose decisions a run takes is settled before its first step and does not change: its receipt could not say it otherwise.
Result<std::optional<Follows>> SettleFollows(const RunDirectory& run, const RunLog& log, std::int64_t steps,
                                             const std::optional<FollowedRun>& followed) {
  ASSAY_ASSIGN(const std::optional<Follows> before, ReadFollows(run.follows_path()));
  const auto wanted = followed ? std::optional(followed->follows()) : std::nullopt;
  if (before == wanted) return wanted;
  // A finished run takes no decisions any more.
  const bool is_finished = !log.entries().empty() && log.entries().back().step >= steps && Exists(run.receipt_path());
  if (before && !wanted && is_finished) return before;
  if (before) {
    return Err("{}: follows the run of {} whose log's root is {:.16}; continue it with --follow and that run", run.path(),
               before->signer, before->log_root.hex());
  }
  ASSAY_ASSIGN(const std::vector<std::int64_t> snapshots, run.SnapshotSteps());
  if (!log.entries().empty() || !snapshots.empty()) {
    return Err("{}: was begun without --follow; train into another directory", run.path());
  }
  ASSAY_TRY(WriteFileAtomic(run.follows_path(), AsBytes(Encode(*wanted))));
  return wanted;
}

// What a run has signed for is there, or its copy is damaged and nothing more is signed.
Status CheckRoundings(const RunLog& log, RoundingLogs& rounding, const std::string& path) {
  for (std::size_t i = 1; i < log.entries().size(); ++i) {
    const std::int64_t from = log.entries()[i - 1].step, to = log.entries()[i].step;
    const auto leaves = rounding.Leaves(from, to);
    if (!leaves && leaves.error().system) return tl::unexpected(leaves.error());
    if (!leaves) return Err("{}: this copy is damaged", leaves.error().message);
    if (log.entries()[i].rounding_root != RoundingRootOfSteps(*leaves)) {
      return Err("{}: the rounding logs of steps {} to {} are not those that the log commits to: this copy is damaged", path,
                 from + 1, to);
    }
  }
  return {};
}

// One training, with everything that its parts share.
class Session {
 public:
  Session(const PreparedJob& prepared, RunDirectory& run, const SigningKey& key, Committer committer,
          std::optional<Follows> follows, Backend& backend, ThreadPool& pool, const TrainHooks& hooks)
      : prepared_(prepared),
        job_(prepared.job),
        run_(run),
        key_(key),
        backend_(backend),
        pool_(pool),
        hooks_(hooks),
        stepper_(prepared, backend),
        committer_(std::move(committer)),
        follows_(std::move(follows)) {}

  Result<TrainOutcome> Run() {
    // Also where no step is left to run: with a receipt, a torn record would be damage.
    if (!Exists(run_.receipt_path())) {
      ASSAY_TRY(RepairEvents(run_.events_path()));
      ASSAY_TRY(monitor::RepairTelemetry(run_.telemetry_path(), prepared_.identity.trajectory, run_.signer()));
    }
    if (hooks_.telemetry) {
      monitor::RecorderOptions options = *hooks_.telemetry;
      options.gpu = !backend_.memory().is_host();
      recorder_ = std::make_unique<monitor::Recorder>(std::move(options));
    }
    ASSAY_TRY(Begin());
    const std::int64_t first = info_.step;
    if (hooks_.on_start) hooks_.on_start(first);
    bool interrupted = false;
    if (first < job_.steps) {
      ASSAY_ASSIGN(interrupted, Loop());
    }
    if (!interrupted) ASSAY_TRY(Finish());
    return TrainOutcome{.step = info_.step,
                        .first_step = first,
                        .interrupted = interrupted,
                        .loss = info_.loss,
                        .validation_loss = info_.validation_loss,
                        .state_root = info_.state_root,
                        .parting = PartingHere()};
  }

 private:
  // Loads the newest snapshot that the log covers, or the starting state.
  Status Begin() {
    const auto note = [this](const std::string& text) {
      if (hooks_.on_note) hooks_.on_note(text);
    };
    const auto accept = [this](const SnapshotInfo& info) { return CheckAgainstLog(info); };
    ASSAY_ASSIGN(auto snapshot, run_.NewestSnapshot(prepared_.program.state, job_.steps, pool_, accept, note));
    if (snapshot) {
      info_ = snapshot->info;
      info_.job = prepared_.identity.job;
      info_.validation_loss.reset();  // nothing commits to it
      state_ = MoveTo(backend_.memory(), std::move(snapshot->state));
      saved_ = true;
      // Those that were passed over would stay behind in a run that is signed for.
      ASSAY_TRY(run_.RemoveSnapshotsAfter(info_.step));
      ASSAY_TRY(run_.Prune(info_.step, job_.snapshot.keep));  // the killed process may not have come to it
      return committer_.Resume(info_.step, stepper_);
    }
    ASSAY_TRY(run_.RemoveSnapshotsAfter(0));
    ASSAY_ASSIGN(State start, StartingState(prepared_));
    state_ = MoveTo(backend_.memory(), std::move(start));
    info_.job = prepared_.identity.job;
    info_.trajectory = prepared_.identity.trajectory;
    ASSAY_TRY(committer_.Begin(state_));
    return job_.snapshot.start ? Save() : Status{};
  }

  // A snapshot to go on from is one that the log leads up to; of a step that it does not commit to, with the rounding logs that the snapshot's signature binds.
  Status CheckAgainstLog(const SnapshotInfo& info) {
    const CommitSchedule schedule = CommitSchedule::Of(job_);
    ASSAY_TRY(CheckFitsLog(info, committer_.log(), schedule, run_.signer()));
    return schedule.IsCommitted(info.step) ? Status{} : committer_.CheckRoundings(info);
  }

  // Runs the steps that are left; true when it was asked to stop before the last.
  Result<bool> Loop() {
    ASSAY_ASSIGN(events_, EventWriter::Create(run_.events_path(), info_.step));
    if (recorder_) ASSAY_TRY(recorder_->Start(run_.telemetry_path(), SessionHere(), key_));
    while (info_.step < job_.steps) {
      if (hooks_.should_stop && hooks_.should_stop()) {
        ASSAY_TRY(Save());
        return true;
      }
      ASSAY_ASSIGN(const bool ready, Prepare());
      if (!ready) return true;
      ASSAY_TRY(Step());
      const bool last = info_.step == job_.steps;
      if (job_.eval.every > 0 && info_.step % job_.eval.every == 0 && !last) ASSAY_TRY(EvaluateNow());
      if (last) ASSAY_TRY(EvaluateNow());
      if (last || (job_.snapshot.every > 0 && info_.step % job_.snapshot.every == 0) || IsTimeToSave()) ASSAY_TRY(Save());
    }
    return false;
  }

  monitor::SessionRecord SessionHere() const {
    const int threads = pool_.threads();
    const monitor::Speed speed = monitor::QuickSpeed(backend_, threads);
    return {.job = prepared_.identity.job,
            .trajectory = prepared_.identity.trajectory,
            .signer = run_.signer().ToString(),
            .first_step = info_.step,
            .steps = job_.steps,
            .epoch_samples = prepared_.data.train->samples(),
            .step_samples = job_.batch.microbatch * job_.batch.microbatches,
            .step_flops = monitor::StepFlops(prepared_.program),
            .state_bytes = monitor::StateBytes(prepared_.program),
            .device = backend_.memory().is_host() ? "cpu" : "cuda",
            .processor = monitor::ProcessorName(),
            .kernels = std::string(backend_.name()),
            .threads = static_cast<std::uint32_t>(threads),
            .cores = static_cast<std::uint32_t>(monitor::Cores()),
            .flops_per_s = speed.flops_per_s,
            .flops_per_cpu_s = speed.flops_per_cpu_s};
  }

  // Waits for what another run has decided. False when it was asked to stop meanwhile. What has been trained is kept in any case: the other may be there again
  // tomorrow.
  Result<bool> Prepare() {
    const Status prepared = committer_.Prepare(info_.step, stepper_);
    if (prepared) return true;
    ASSAY_TRY(Save());
    if (hooks_.should_stop && hooks_.should_stop()) return false;
    return tl::unexpected(prepared.error());
  }

  std::optional<Parting> PartingHere() const {
    const std::vector<LogEntry>& entries = committer_.log().entries();
    const auto& parted = committer_.parted();
    if (!parted) return std::nullopt;
    return Parting{*parted == 0 ? 0 : entries[*parted - 1].step + 1, entries[*parted].step};
  }

  void Note(const std::string& text) const {
    if (hooks_.on_note) hooks_.on_note(text);
  }

  // Whoever follows its own log signs for nothing that an audit refutes; whoever follows another's decides for itself instead.
  Status CheckDecisions(const StepOutcome& outcome) const {
    if (!outcome.rounding || !outcome.rounding->report.inadmissible) return {};
    const std::string what =
        fmt::format("step {}: {} {}", info_.step, committer_.following(), Describe(*outcome.rounding->report.inadmissible));
    if (!committer_.follows_another()) return Err("{}", what);
    if (!outcome.rounding->report.own) return Err("{}; with --device cpu this run can go on by itself", what);
    Note(what + "; decided here instead");
    return {};
  }

  void NoteParting() const {
    const auto parting = PartingHere();
    if (!parting || parting->last != info_.step) return;
    Note(fmt::format("{} {}: {} says otherwise than its decisions lead to here; from here on this run goes by itself",
                     parting->first == parting->last ? "step" : "one of the steps",
                     parting->first == parting->last ? std::to_string(parting->last)
                                                     : fmt::format("{} to {}", parting->first, parting->last),
                     committer_.followed()->name()));
  }

  Status Step() {
    const auto begin = Clock::now();
    const StepPlan plan = stepper_.Plan(info_.step);
    const StepOutcome outcome = stepper_.Run(state_, plan);
    ++info_.step;
    ASSAY_TRY(CheckDecisions(outcome));
    ASSAY_TRY(committer_.Step(info_.step, state_, outcome));
    NoteParting();
    ASSAY_TRY(ShowLog());
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    info_.loss = outcome.loss;
    info_.validation_loss.reset();
    saved_ = false;
    if (!std::isfinite(outcome.loss) && !std::exchange(warned_, true) && hooks_.on_note) {
      hooks_.on_note(fmt::format("the loss is {} at step {}; a smaller learning rate may help", outcome.loss, info_.step));
    }
    std::vector<Scalar> scalars = {{"loss", outcome.loss}, {"lr", plan.lr}};
    for (const StepMetric& metric : outcome.metrics) scalars.push_back({metric.name, metric.value});
    if (outcome.rounding) scalars.push_back({"rounding_decisions", static_cast<float>(outcome.rounding->report.decisions)});
    const Throughput throughput = ThroughputOf(job_);
    const std::string rate = fmt::format("{}_per_s", throughput.unit);
    scalars.push_back({rate, static_cast<float>(throughput.per_step / seconds)});
    if (recorder_) {
      ASSAY_TRY(recorder_->Step(info_.step, outcome.loss));
      if (const auto figures = recorder_->TakeFigures()) AddFigures(*figures, scalars);
    }
    ASSAY_TRY(events_->Write(info_.step, scalars));
    if (hooks_.on_step) hooks_.on_step({.step = info_.step, .loss = outcome.loss, .lr = plan.lr});
    return {};
  }

  static void AddFigures(const monitor::Figures& figures, std::vector<Scalar>& scalars) {
    scalars.push_back({"cpu_util", static_cast<float>(figures.cores)});
    scalars.push_back({"memory_bytes", static_cast<float>(figures.resident)});
    if (!figures.gpu) return;
    const auto add = [&](std::string_view tag, std::int64_t value, double unit) {
      if (value != monitor::kNotTold) scalars.push_back({tag, static_cast<float>(static_cast<double>(value) * unit)});
    };
    constexpr double kMilli = 1e-3;
    add("gpu_util", figures.gpu->utilisation, 1);
    add("gpu_memory_bytes", figures.gpu->memory, 1);
    add("gpu_power_w", figures.gpu->power_mw, kMilli);
    add("gpu_energy_j", figures.gpu->energy_mj, kMilli);
  }

  // What was shown to others is on disk before, so that a run that is killed and taken up again comes to the same entries.
  Status ShowLog() {
    if (!hooks_.wants_log || committer_.log().entries().back().step != info_.step || !hooks_.wants_log()) return {};
    ASSAY_TRY(committer_.WriteLog(run_.log_path(), LogOrigin(run_.signer(), prepared_.identity.job), key_));
    if (hooks_.on_log) hooks_.on_log(committer_.log());
    return {};
  }

  Status EvaluateNow() {
    if (prepared_.data.validation == nullptr) return {};
    const Evaluation evaluation =
        Evaluate(job_, *prepared_.data.validation, prepared_.program.state, state_, job_.eval.batches, backend_);
    info_.validation_loss = evaluation.loss;
    if (hooks_.on_evaluation) hooks_.on_evaluation(info_.step, evaluation.loss);
    if (!events_) return {};
    const Scalar scalars[] = {{"val_loss", evaluation.loss}, {"val_accuracy", static_cast<float>(evaluation.accuracy)}};
    return events_->Write(info_.step, scalars);
  }

  Clock::time_point Now() const { return hooks_.now ? hooks_.now() : Clock::now(); }

  bool IsTimeToSave() const {
    return job_.snapshot.minutes > 0 && Now() - saved_at_ >= std::chrono::minutes(job_.snapshot.minutes);
  }

  Status Save() {
    if (saved_) return {};
    if (events_) ASSAY_TRY(events_->Sync());
    // The log goes first: a snapshot is only worth something where the log commits to what led to it.
    ASSAY_TRY(committer_.WriteLog(run_.log_path(), LogOrigin(run_.signer(), prepared_.identity.job), key_));
    // A snapshot has its seal, as it has its log.
    if (recorder_ && events_) {
      ASSAY_TRY(recorder_->Seal(info_.step, committer_.log().checkpoint(), info_.step == job_.steps));
    }
    info_.state_root = StateRootHere();
    info_.rounding_root = committer_.RoundingRoot();
    info_.signature = key_.Sign(SignedMessage(info_));
    ASSAY_TRY(WriteSnapshot(run_.SnapshotPath(info_.step), prepared_.program.state, HostState(state_).get(), info_));
    saved_ = true;
    saved_at_ = Now();
    return run_.Prune(info_.step, job_.snapshot.keep);
  }

  // The root of state_, which at a committed step has just been computed.
  Digest StateRootHere() const {
    const LogEntry& last = committer_.log().entries().back();
    return last.step == info_.step ? last.state_root : StateRootOf(prepared_.program.state, state_, backend_);
  }

  // Leaves a completed run complete: also when the process died between the last snapshot and here.
  Status Finish() {
    if (saved_ && HasReceipt()) return {};
    if (!info_.validation_loss) ASSAY_TRY(EvaluateNow());
    ASSAY_TRY(Save());
    ASSAY_TRY(WriteWeights());
    ASSAY_ASSIGN(const Receipt receipt, MakeReceipt());
    return WriteFileAtomic(run_.receipt_path(), AsBytes(SignReceipt(receipt, key_)));
  }

  // Whether the receipt on disk is the one to write, for the weights on disk.
  bool HasReceipt() {
    if (!Exists(run_.receipt_path()) || !Exists(run_.weights_path())) return false;
    const auto file = ReadFile(run_.receipt_path(), kMaxReceiptBytes);
    if (!file) return false;
    const auto found =
        OpenReceipt({reinterpret_cast<const char*>(file->data()), file->size()}, run_.signer(), run_.receipt_path());
    const auto expected = MakeReceipt();
    if (!found || !expected || *found != *expected) return false;
    const auto weights = Safetensors::Open(run_.weights_path());
    const auto info = weights ? SnapshotInfoOf(*weights) : Result<SnapshotInfo>(tl::unexpected(weights.error()));
    if (!info) return false;
    info_.validation_loss = info->validation_loss;  // signed for
    return true;
  }

  // For the weights on disk.
  Result<Receipt> MakeReceipt() const {
    const std::vector<LogEntry>& entries = committer_.log().entries();
    ASSAY_CHECK(entries.back().step == job_.steps);
    ASSAY_ASSIGN(const Safetensors file, Safetensors::Open(run_.weights_path()));
    // The weights are those of the state: what was signed must not follow a file that somebody altered.
    const HostState state(state_);
    return Receipt{.model = HashBytes(file.bytes()),
                   .job = prepared_.identity.job,
                   .trajectory = prepared_.identity.trajectory,
                   .program = run_.header().program_bin,
                   .data = prepared_.identity.data,
                   .steps = job_.steps,
                   .commit_every = job_.commit_every,
                   .snapshot_every = job_.snapshot.every,
                   .log = committer_.log().checkpoint(),
                   .initial_state_root = entries.front().state_root,
                   .final_state_root = entries.back().state_root,
                   .loss_bits = entries.back().loss_bits,
                   .weights = WeightsRoot(WeightsOf(prepared_, state.get()), pool_),
                   .follows = follows_,
                   .signer = run_.signer().ToString()};
  }

  Status WriteWeights() const {
    const HostState state(state_);
    return WriteSafetensors(run_.weights_path(), WeightsOf(prepared_, state.get()), ToMetadata(WeightsInfo()));
  }

  SnapshotInfo WeightsInfo() const {
    SnapshotInfo info = info_;
    info.weights_only = true;
    info.signature.reset();
    info.rounding_root.reset();
    return info;
  }

  const PreparedJob& prepared_;
  const Job& job_;
  RunDirectory& run_;
  const SigningKey& key_;
  Backend& backend_;
  ThreadPool& pool_;
  const TrainHooks& hooks_;
  Stepper stepper_;
  Committer committer_;
  std::optional<Follows> follows_;
  State state_;                        // in the backend's memory
  SnapshotInfo info_;                  // of state_; its root is that of the last Save
  std::optional<EventWriter> events_;  // while steps are run
  std::unique_ptr<monitor::Recorder> recorder_;
  bool saved_ = false;                  // whether a snapshot of state_ is on disk
  Clock::time_point saved_at_ = Now();  // the last one
  bool warned_ = false;                 // of a loss that is not finite
};

}  // namespace

Result<TrainOutcome> Train(const PreparedJob& prepared, RunDirectory& run, const SigningKey& key, Backend& backend,
                           ThreadPool& pool, const TrainHooks& hooks, std::optional<FollowedRun> follow) {
  ASSAY_CHECK(key.verify_key() == run.signer());
  ASSAY_ASSIGN(RunLog log, OpenLog(prepared, run, key));
  std::optional<RoundingLogs> rounding;
  if (prepared.job.precision == Precision::kFp64Rounded) {
    ASSAY_ASSIGN(rounding, RoundingLogs::Open(run.rounding_path()));
    ASSAY_TRY(CheckRoundings(log, *rounding, run.rounding_path()));
  }
  ASSAY_ASSIGN(const std::optional<Follows> follows, SettleFollows(run, log, prepared.job.steps, follow));
  Committer committer(prepared, std::move(log), std::move(rounding), std::move(follow), backend);
  return Session(prepared, run, key, std::move(committer), follows, backend, pool, hooks).Run();
}

}  // namespace assay
