// The step loop: from the newest snapshot of a run directory to the last step, with evaluation, events, log and snapshots
// on the way, and a receipt at the end.
//
// A run that was killed and taken up again ends in the same bytes as one that was not. The first error of any kind ends training; what
// is on disk then is a valid, older run.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "assay/backend/backend.h"
#include "assay/base/thread_pool.h"
#include "assay/monitor/recorder.h"
#include "assay/run/log.h"
#include "assay/train/followed_run.h"
#include "assay/train/prepare.h"

namespace assay {

struct StepReport {
  std::int64_t step = 0;  // steps completed
  float loss = 0;
  float lr = 0;
};

// Called on the training thread, between steps. All may be empty.
struct TrainHooks {
  std::function<void(std::int64_t first_step)> on_start{};  // steps already done
  std::function<void(const StepReport&)> on_step{};
  std::function<void(std::int64_t step, float loss)> on_evaluation{};
  std::function<void(const std::string&)> on_note{};  // something the user should know, such as a damaged snapshot
  std::function<bool()> should_stop{};                // asked before each step
  // For who publishes the log while training goes on: asked after each entry; where it says yes, the log is signed and written, and on_log sees it.
  std::function<bool()> wants_log{};
  std::function<void(const RunLog& log)> on_log{};
  // Keeps telemetry in the run's directory (docs/formats/telemetry.md) where there are options for it.
  std::optional<monitor::RecorderOptions> telemetry{};
  // The time that `snapshot.minutes` goes by; empty: the steady clock's.
  std::function<std::chrono::steady_clock::time_point()> now{};
};

// Of a run that follows another: the steps of the first entry that is not what the other says, if there is one. After it this run followed nobody.
struct Parting {
  std::int64_t first = 0, last = 0;
};

struct TrainOutcome {
  std::int64_t step = 0;        // steps completed
  std::int64_t first_step = 0;  // steps that an earlier call had completed
  bool interrupted = false;
  float loss = 0;  // of the last step; nothing before the first
  std::optional<float> validation_loss;
  Digest state_root{};
  std::optional<Parting> parting{};
};

// `key` is that of the run's signer. `pool` is for what the host does between steps; it may be the backend's. `follow`: of a job that rounds, a finished run
// of the same job whose decisions are to be taken, and which the receipt then names. Training ends with an error, after a snapshot, where a log of it is not
// shown or not the one that it committed to. Where it has lied training goes on by what the job gives; `on_note` is told.
Result<TrainOutcome> Train(const PreparedJob& prepared, RunDirectory& run, const SigningKey& key, Backend& backend,
                           ThreadPool& pool, const TrainHooks& hooks, std::optional<FollowedRun> follow = {});

}  // namespace assay
