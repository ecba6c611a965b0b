#include "assay/train/trainer.h"

#include <chrono>
#include <cmath>
#include <utility>

#include "assay/model/import.h"
#include "assay/run/events.h"
#include "assay/train/batch.h"
#include "assay/train/evaluate.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

// One training, with everything that its parts share.
class Session {
 public:
  Session(const PreparedJob& prepared, RunDirectory& run, Backend& backend, ThreadPool& pool, const TrainHooks& hooks)
      : prepared_(prepared), job_(prepared.job), run_(run), backend_(backend), pool_(pool), hooks_(hooks) {}

  Result<TrainOutcome> Run() {
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
                        .state_root = info_.state_root};
  }

 private:
  // Loads the newest snapshot or the starting state.
  Status Begin() {
    const auto note = [this](const std::string& text) {
      if (hooks_.on_note) hooks_.on_note(text);
    };
    ASSAY_ASSIGN(auto snapshot, run_.NewestSnapshot(prepared_.program.state, job_.steps, pool_, note));
    if (snapshot) {
      info_ = snapshot->info;
      info_.job = prepared_.identity.job;
      state_ = std::move(snapshot->state);
      saved_ = true;
      return {};
    }
    ASSAY_ASSIGN(state_, StartingState(prepared_));
    info_.job = prepared_.identity.job;
    info_.trajectory = prepared_.identity.trajectory;
    return {};
  }

  // Runs the steps that are left; true when it was asked to stop before the last.
  Result<bool> Loop() {
    StepRunner runner(prepared_.program, backend_);
    BatchLoader loader(*prepared_.data.train, runner.batch_fields());
    ASSAY_ASSIGN(EventWriter events, EventWriter::Create(run_.events_path(), info_.step));
    while (info_.step < job_.steps) {
      if (hooks_.should_stop && hooks_.should_stop()) {
        ASSAY_TRY(Save());
        return true;
      }
      ASSAY_TRY(Step(runner, loader, events));
      const bool last = info_.step == job_.steps;
      if (job_.eval.every > 0 && info_.step % job_.eval.every == 0 && !last) ASSAY_TRY(EvaluateNow(&events));
      if (last) ASSAY_TRY(EvaluateNow(&events));
      if (last || (job_.snapshot.every > 0 && info_.step % job_.snapshot.every == 0)) ASSAY_TRY(Save());
    }
    return false;
  }

  Status Step(StepRunner& runner, BatchLoader& loader, EventWriter& events) {
    const std::int64_t microbatch = job_.batch.microbatch;
    const auto step = static_cast<std::uint32_t>(info_.step);
    const std::vector<std::int64_t> indices =
        BatchIndices(job_.seed, prepared_.data.train->samples(), step, microbatch * job_.batch.microbatches);
    const float lr = LearningRate(job_.schedule, info_.step);
    const auto begin = Clock::now();
    const StepResult result = runner.Run(
        state_, {.seed = job_.seed, .step = step, .lr = lr, .load = [&](std::int64_t g, std::span<Tensor> fields) {
                   const DrawContext context{.seed = job_.seed, .step = step, .position = g * microbatch, .train = true};
                   const auto first = static_cast<std::size_t>(g * microbatch);
                   loader.Load(std::span(indices).subspan(first, static_cast<std::size_t>(microbatch)), context, fields);
                 }});
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    ++info_.step;
    info_.loss = result.loss;
    info_.validation_loss.reset();
    saved_ = false;
    if (!std::isfinite(result.loss) && !std::exchange(warned_, true) && hooks_.on_note) {
      hooks_.on_note(fmt::format("the loss is {} at step {}; a smaller learning rate may help", result.loss, info_.step));
    }
    std::vector<Scalar> scalars = {{"loss", result.loss}, {"lr", lr}};
    for (const StepMetric& metric : result.metrics) scalars.push_back({metric.name, metric.value});
    const Throughput throughput = ThroughputOf(job_);
    const std::string rate = fmt::format("{}_per_s", throughput.unit);
    scalars.push_back({rate, static_cast<float>(throughput.per_step / seconds)});
    ASSAY_TRY(events.Write(info_.step, scalars));
    if (hooks_.on_step) hooks_.on_step({.step = info_.step, .loss = result.loss, .lr = lr});
    return {};
  }

  Status EvaluateNow(EventWriter* events) {
    if (prepared_.data.validation == nullptr) return {};
    const Evaluation evaluation =
        Evaluate(job_, *prepared_.data.validation, prepared_.program.state, state_, job_.eval.batches, backend_);
    info_.validation_loss = evaluation.loss;
    if (hooks_.on_evaluation) hooks_.on_evaluation(info_.step, evaluation.loss);
    if (events == nullptr) return {};
    const Scalar scalars[] = {{"val_loss", evaluation.loss}, {"val_accuracy", static_cast<float>(evaluation.accuracy)}};
    return events->Write(info_.step, scalars);
  }

  Status Save() {
    if (saved_) return {};
    info_.state_root = StateRootOf(prepared_.program.state, state_, pool_);
    ASSAY_TRY(WriteSnapshot(run_.SnapshotPath(info_.step), prepared_.program.state, state_, info_));
    saved_ = true;
    return run_.Prune(info_.step, job_.snapshot.keep);
  }

  // Leaves a completed run complete: also when the process died between the last snapshot and here.
  Status Finish() {
    if (!info_.validation_loss) ASSAY_TRY(EvaluateNow(nullptr));
    ASSAY_TRY(Save());
    if (WeightsAreCurrent()) return {};
    std::vector<TensorRef> weights;
    const std::vector<StateSpec> model = ModelState(job_.model);
    std::size_t next = 0;
    for (const StateSpec& spec : model) {  // both lists are in name order, and the model's tensors are among the state's
      while (prepared_.program.state[next].name != spec.name) ++next;
      weights.push_back({spec.name, &state_[next]});
    }
    return WriteSafetensors(run_.weights_path(), weights, ToMetadata(WeightsInfo()));
  }

  bool WeightsAreCurrent() const {
    if (!Exists(run_.weights_path())) return false;
    const auto file = Safetensors::Open(run_.weights_path());
    if (!file) return false;
    const auto info = SnapshotInfoOf(*file);
    return info && *info == WeightsInfo();
  }

  SnapshotInfo WeightsInfo() const {
    SnapshotInfo info = info_;
    info.weights_only = true;
    return info;
  }

  const PreparedJob& prepared_;
  const Job& job_;
  RunDirectory& run_;
  Backend& backend_;
  ThreadPool& pool_;
  const TrainHooks& hooks_;
  State state_;
  SnapshotInfo info_;    // of state_; its root is that of the last Save
  bool saved_ = false;   // whether a snapshot of state_ is on disk
  bool warned_ = false;  // of a loss that is not finite
};

}  // namespace

Result<TrainOutcome> Train(const PreparedJob& prepared, RunDirectory& run, Backend& backend, ThreadPool& pool,
                           const TrainHooks& hooks) {
  return Session(prepared, run, backend, pool, hooks).Run();
}

}  // namespace assay
