#include "cheat.h"

#include <algorithm>
#include <utility>

#include "assay/run/events.h"
#include "assay/run/log.h"
#include "assay/train/committer.h"
#include "assay/train/trainer.h"
#include "conduct.h"
#include "tools.h"

namespace assay::attacks {
namespace {

// One dishonest training, from the starting state to the last snapshot.
class Training {
 public:
  // `crooked` is the job over whatever data is really used.
  Training(const Hooks& hooks, const Setting& setting, const PreparedJob& prepared, const PreparedJob& crooked,
           RunDirectory& run, const SigningKey& key)
      : hooks_(hooks),
        conduct_(hooks, nullptr),
        lie_(setting.lie),
        prepared_(prepared),
        run_(run),
        key_(key),
        pool_(setting.pool),
        honest_(prepared, setting.backend),
        stepper_(crooked, setting.backend),
        committer_(prepared, RunLog(prepared.identity.trajectory), LogsOf(prepared, run), std::nullopt, setting.backend) {}

  Status Run() {
    ASSAY_ASSIGN(state_, StartingState(prepared_));
    ASSAY_TRY(conduct_.Start(state_));
    ASSAY_TRY(committer_.Begin(state_));
    ASSAY_ASSIGN(EventWriter events, EventWriter::Create(run_.events_path(), 0));
    const Job& job = prepared_.job;
    for (std::int64_t step = 1; step <= job.steps; ++step) {
      ASSAY_ASSIGN(const StepOutcome outcome, Step(step));
      const Scalar scalars[] = {{"loss", outcome.loss}, {"lr", honest_.Plan(step - 1).lr}};
      ASSAY_TRY(events.Write(step, scalars));
      ASSAY_TRY(committer_.Step(step, state_, outcome));
      if (step == job.steps || (job.snapshot.every > 0 && step % job.snapshot.every == 0)) ASSAY_TRY(Save(step, outcome.loss));
    }
    if (hooks_.data && !poisoned_) return Err("no changed sample was drawn in {} steps: the run is honest", job.steps);
    return {};
  }

 private:
  static std::optional<RoundingLogs> LogsOf(const PreparedJob& prepared, const RunDirectory& run) {
    if (prepared.job.precision != Precision::kFp64Rounded) return std::nullopt;
    return RoundingLogs::Open(run.rounding_path()).value();  // of a new run
  }

  // Changes the state; returns what is claimed about the step.
  Result<StepOutcome> Step(std::int64_t step) {
    ASSAY_ASSIGN(StepOutcome outcome, conduct_.Step(stepper_, state_, step - 1));
    const Digest expected = honest_.BatchRootOf(honest_.Plan(step - 1));
    if (hooks_.data && !poisoned_ && outcome.batch_root != expected) {
      poisoned_ = true;
      lie_.step = step;
    }
    if (!hooks_.admits_batches) outcome.batch_root = expected;
    return outcome;
  }

  Status Save(std::int64_t step, float loss) {
    ASSAY_TRY(committer_.WriteLog(run_.log_path(), LogOrigin(run_.signer(), prepared_.identity.job), key_));
    SnapshotInfo info{.step = step,
                      .job = prepared_.identity.job,
                      .trajectory = prepared_.identity.trajectory,
                      .state_root = StateRootOf(prepared_.program.state, state_, pool_),
                      .loss = loss,
                      .validation_loss = std::nullopt};
    info.rounding_root = committer_.RoundingRoot();
    info.signature = key_.Sign(SignedMessage(info));
    ASSAY_TRY(WriteSnapshot(run_.SnapshotPath(step), prepared_.program.state, state_, info));
    return run_.Prune(step, prepared_.job.snapshot.keep);
  }

  const Hooks& hooks_;
  HooksConduct conduct_;
  Lie& lie_;
  const PreparedJob& prepared_;
  RunDirectory& run_;
  const SigningKey& key_;
  ThreadPool& pool_;
  Stepper honest_;
  Stepper stepper_;
  Committer committer_;
  State state_;
  bool poisoned_ = false;  // whether a changed sample has been drawn: only from there on is the run false
};

Status TrainCrookedly(const Hooks& hooks, const Setting& setting, const PreparedJob& prepared, const SigningKey& key,
                      const std::string& out) {
  if (RunDirectory::IsRun(out)) return Err("{}: holds a run already; choose another --out directory", out);
  ASSAY_ASSIGN(RunDirectory run, RunDirectory::OpenForTraining(out, ContentOf(prepared, out), key.verify_key()));
  ASSAY_ASSIGN(PreparedJob crooked, Prepare(prepared.job, &setting.pool));
  if (hooks.data) crooked.data.train = hooks.data(std::move(crooked.data.train));
  ASSAY_TRY(Training(hooks, setting, prepared, crooked, run, key).Run());
  // The honest trainer takes it from here: it finds the last snapshot, and adds the weights and the receipt that go with it.
  ASSAY_TRY(Train(prepared, run, key, setting.backend, setting.pool, {}));
  return hooks.finished ? hooks.finished(run) : Status{};
}

std::optional<std::int64_t> StepOf(Where where, std::int64_t at, const Job& job) {
  switch (where) {
    case Where::kClaims: return std::nullopt;
    case Where::kStart: return 0;
    case Where::kFirst: return 1;
    case Where::kClaimsAt:
    case Where::kAt: return at;
    case Where::kLast: return job.steps;
  }
  return std::nullopt;
}

}  // namespace

const Cheat* FindCheat(std::string_view name) {
  for (const std::span<const Cheat> cheats : {Cheats(), RoundedCheats()}) {
    if (const auto found = std::ranges::find(cheats, name, &Cheat::name); found != cheats.end()) return &*found;
  }
  return nullptr;
}

Status RunHooks(const Hooks& hooks, const Setting& setting, const std::string& out) {
  std::optional<SigningKey> other;
  if (hooks.signer) other = hooks.signer();
  const SigningKey& key = other ? *other : setting.key;
  if (!hooks.job) return TrainCrookedly(hooks, setting, setting.prepared, key, out);
  Job job = setting.prepared.job;
  hooks.job(job);
  ASSAY_ASSIGN(const PreparedJob prepared, Prepare(std::move(job), &setting.pool));
  return TrainCrookedly(hooks, setting, prepared, key, out);
}

Result<Lie> RunCheat(const Cheat& cheat, const CheatRequest& request, const SigningKey& key, Backend& backend,
                     ThreadPool& pool) {
  ASSAY_ASSIGN(const PreparedJob prepared, Prepare(request.job, &pool));
  const std::int64_t steps = prepared.job.steps;
  const std::int64_t at = request.at == 0 ? std::max<std::int64_t>(1, steps / 2) : request.at;
  if (at > steps) return Err("--at: expected 1 .. {}, the steps of the job, got {}", steps, at);
  Lie lie{.step = StepOf(cheat.finding.where, at, prepared.job)};
  const Setting setting{.prepared = prepared, .key = key, .backend = backend, .pool = pool, .at = at, .lie = lie};
  ASSAY_ASSIGN(const Hooks hooks, cheat.make(setting));
  ASSAY_TRY(RunHooks(hooks, setting, request.out));
  return lie;
}

}  // namespace assay::attacks
