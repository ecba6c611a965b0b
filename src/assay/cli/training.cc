#include "assay/cli/training.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "assay/base/allowance.h"
#include "assay/base/quote.h"
#include "assay/cli/finished_run.h"
#include "assay/cli/json.h"
#include "assay/cli/progress.h"
#include "assay/cli/signer.h"
#include "assay/cli/text.h"
#include "assay/service/remote_run.h"
#include "assay/train/followed_run.h"
#include "assay/train/interrupt.h"
#include "assay/train/memory_fit.h"
#include "assay/train/trainer.h"

namespace assay::cli {
namespace {

double Now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

Result<FollowedRun> OpenFollowed(const TrainOptions& options, const PreparedJob& prepared) {
  if (prepared.job.precision != Precision::kFp64Rounded) {
    return Err("--follow: is for jobs of precision fp64-rounded; others have no rounding log to follow");
  }
  if (service::IsUrl(options.follow)) {
    return service::OpenRemoteRun(options.follow, prepared,
                                  {.ca_file = options.ca_file, .patience_s = double{options.patience_s}});
  }
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(options.follow));
  return FollowedRun::Open(run, prepared);
}

OrderedJson FollowsJson(const TrainOptions& options, const std::optional<Follows>& follows, const TrainOutcome& outcome) {
  if (!follows) return nullptr;
  const auto& parting = outcome.parting;
  return {{"run", options.follow},
          {"signer", follows->signer},
          {"log", follows->log_root.hex()},
          {"agrees", !parting},
          {"differs_from", parting ? OrderedJson(parting->first) : OrderedJson(nullptr)},
          {"differs_to", parting ? OrderedJson(parting->last) : OrderedJson(nullptr)}};
}

// What came of following another, and what to do with it.
std::string FollowsText(const TrainOptions& options, const std::optional<Follows>& follows, const TrainOutcome& outcome) {
  if (!follows) return "";
  std::string text = fmt::format("follows     {} ({})\n", options.follow, follows->signer);
  if (!outcome.parting) {
    if (outcome.interrupted) return text;
    return text + "            says the same to the end: a dispute with it ends in agreement\n";
  }
  const Parting& parting = *outcome.parting;
  return text + fmt::format(
                    "            up to step {}; it says otherwise after step {}, which a dispute of this run with it decides\n",
                    std::max<std::int64_t>(0, parting.first - 1), parting.last);
}

// `name`: the job's.
void PrintResult(const TrainOptions& options, const std::string& name, const RunDirectory& run, const Compute& compute,
                 const std::optional<Follows>& follows, const TrainOutcome& outcome, bool had_receipt, double seconds) {
  if (options.json) {
    const OrderedJson json = {{"job", name},
                              {"job_id", run.identity().job.hex()},
                              {"steps", outcome.step},
                              {"resumed_from", outcome.first_step},
                              {"loss", outcome.step > 0 ? OrderedJson(outcome.loss) : OrderedJson(nullptr)},
                              {"val_loss", ToJson(outcome.validation_loss)},
                              {"state_root", outcome.state_root.hex()},
                              {"signer", run.signer().ToString()},
                              {"receipt", outcome.interrupted ? OrderedJson(nullptr) : OrderedJson(run.receipt_path())},
                              {"seconds", seconds},
                              {"device", compute.device},
                              {"simd", compute.kernels},
                              {"threads", compute.pool->threads()},
                              {"interrupted", outcome.interrupted},
                              {"follows", FollowsJson(options, follows, outcome)}};
    fmt::print("{}\n", Dump(json));
    return;
  }
  const bool finished = !outcome.interrupted && outcome.first_step == outcome.step;
  const std::string_view before = !finished     ? ""
                                  : had_receipt ? "; the run was finished already, and nothing was trained"
                                                : "; all of them were there already, and a new receipt was written";
  fmt::print("steps       {}{}\n", outcome.step, before);
  if (outcome.step > 0) fmt::print("loss        {:.6f}\n", outcome.loss);
  if (outcome.validation_loss) fmt::print("val loss    {:.6f}\n", *outcome.validation_loss);
  fmt::print("time        {}\nstate root  {}\n", Duration(seconds), outcome.state_root.hex());
  fmt::print("signed by   {}\n{}", run.signer().id(), FollowsText(options, follows, outcome));
  if (outcome.interrupted) return;
  fmt::print("weights     {}\nreceipt     {}\n", run.weights_path(), run.receipt_path());
  if (!options.data.empty())
    fmt::print(
        "data        pass --data {} to audit, eval, sample and resume, where they do not find it: a run keeps no absolute "
        "path\n",
        ShellQuoted(options.data));
}

// A longer run is another job, and its schedule is that of the job file: both surprise whoever reckons with neither.
std::vector<std::string> NotesOnSteps(const TrainOptions& options, const PreparedJob& prepared) {
  std::vector<std::string> notes;
  const Job& job = prepared.job;
  if (options.steps > 0 && job.schedule.kind == ScheduleKind::kWarmupCosine && job.schedule.length != job.steps) {
    notes.push_back(fmt::format(
        "--steps {} does not stretch the learning rate's schedule, which ends at step {} (schedule.length in the job "
        "file sets it)",
        job.steps, job.schedule.length));
  }
  if (!RunDirectory::IsRun(options.out)) return notes;
  const auto run = RunDirectory::Open(options.out);
  if (!run || run->identity().trajectory != prepared.identity.trajectory || run->identity().job == prepared.identity.job)
    return notes;
  notes.push_back(fmt::format("with {} steps the run is another job: its id changes from {:.16} to {:.16}{}", job.steps,
                              run->identity().job.hex(), prepared.identity.job.hex(),
                              Exists(run->receipt_path()) ? ", and its receipt is replaced at the end" : ""));
  return notes;
}

// Says how much was wanted; of a device, which may have too little for what kernels take beside the plan, also what would fit.
Result<TrainOutcome> TrainWithin(const PreparedJob& prepared, RunDirectory& run, const SigningKey& key, const Compute& compute,
                                 const TrainHooks& hooks, std::optional<FollowedRun> follow, bool& out_of_memory) {
  try {
    return Train(prepared, run, key, *compute.backend, *compute.pool, hooks, std::move(follow));
  } catch (const std::bad_alloc& error) {
    out_of_memory = true;
    const bool in_words = dynamic_cast<const OutOfMemory*>(&error) != nullptr;
    const std::string what = in_words ? error.what() : "out of memory";
    if (const auto free = compute.backend->free_bytes()) {
      return Err("{}; {}", what, WhatWouldFit(prepared.job, *compute.backend, *free));
    }
    return Err(
        "{}; training this job takes {} for its state and work space; with a smaller batch.microbatch, which takes less, it is "
        "another job: train that into another directory",
        what, Amount(static_cast<std::int64_t>(TrainingBytes(prepared.program, *compute.backend))));
  }
}

std::optional<monitor::RecorderOptions> TelemetryOf(const TrainOptions& options) {
  if (options.no_telemetry) return std::nullopt;
  return monitor::RecorderOptions{.interval_ms = static_cast<std::uint32_t>(options.sample_ms)};
}

Status CheckShowing(const TrainOptions& options) {
  if (!options.no_telemetry || !options.showing.any()) return {};
  return Err("{}: shows telemetry, which --no-telemetry turns off", options.showing.mlflow.empty() ? "--metrics" : "--mlflow");
}

// What is not in the run directory has to be named again.
std::string HowToContinue(const TrainOptions& options) {
  if (!options.follow.empty()) return "the same command";
  std::string command = fmt::format("`assay resume {}", ShellQuoted(options.out));
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) command += fmt::format(" {} {}", name, ShellQuoted(value));
  };
  add("--data", options.data);
  add("--key", options.key);
  if (options.compute.device != "cpu") add("--device", options.compute.device);
  return command + "`";
}

// No step is left to run.
bool IsFinished(const std::string& path, const PreparedJob& prepared) {
  if (!RunDirectory::IsRun(path)) return false;
  const auto run = RunDirectory::Open(path);
  return run && run->identity().job == prepared.identity.job && FinishedOutcome(*run, prepared.job.steps);
}

}  // namespace

Result<int> TrainInto(const TrainOptions& options, const PreparedJob& prepared, Compute compute) {
  const double begin = Now();
  ASSAY_TRY(CheckShowing(options));
  ASSAY_TRY(ComputeFor(prepared.job, compute));
  if (!IsFinished(options.out, prepared)) ASSAY_TRY(CheckFits(prepared, *compute.backend));
  ASSAY_ASSIGN(const SigningKey key, OpenSigner(options.key));
  std::optional<FollowedRun> follow;
  std::optional<Follows> follows;
  if (!options.follow.empty()) {
    ASSAY_ASSIGN(follow, OpenFollowed(options, prepared));  // before anything is written
    follows = follow->follows();
  }
  const std::vector<std::string> notes = NotesOnSteps(options, prepared);
  ASSAY_ASSIGN(RunDirectory run,
               RunDirectory::OpenForTraining(options.out, ContentOf(prepared, options.out), key.verify_key()));

  const bool had_receipt = Exists(run.receipt_path());
  Progress progress(stderr, ProgressModeFor(stderr, options.quiet), prepared.job.steps, ThroughputOf(prepared.job));
  if (!options.quiet) {
    for (const std::string& note : notes) progress.Note(note);
  }
  const std::string at_once = fmt::format(
      "interrupted at once; what was done since the last snapshot is done again; continue with {}", HowToContinue(options));
  const InterruptGuard interrupt(fmt::format("\nassay: {}\n", at_once), options.json ? Dump({{"error", at_once}}) + "\n" : "");
  if (follow) follow->StopWhen([&] { return interrupt.signal() != 0; });
  std::unique_ptr<Showing> showing;
  std::optional<monitor::RecorderOptions> telemetry = TelemetryOf(options);
  if (options.showing.any()) {
    ASSAY_ASSIGN(showing, Showing::Start(options.showing, prepared.job, options.out));
    showing->Attach(*telemetry);
  }
  const auto tell = [&] {
    if (showing == nullptr) return;
    for (const std::string& note : showing->TakeNotes()) progress.Note(note);
  };
  tell();
  bool began = false;
  const TrainHooks hooks{
      .on_start =
          [&](std::int64_t first) {
            began = true;
            progress.Start(first, Now());
          },
      .on_step =
          [&](const StepReport& report) {
            progress.Step(report, Now());
            tell();
          },
      .on_evaluation = [&](std::int64_t step, float loss) { progress.Evaluation(step, loss); },
      .on_note = [&](const std::string& text) { progress.Note(text); },
      .should_stop = [&] { return interrupt.signal() != 0; },
      .telemetry = telemetry,
  };
  bool out_of_memory = false;
  const auto outcome = TrainWithin(prepared, run, key, compute, hooks, std::move(follow), out_of_memory);
  if (showing != nullptr) showing->Finish(!outcome || outcome->interrupted);
  progress.Finish();
  tell();
  if (!outcome) {
    Error error = outcome.error();
    if (began) {
      error.message += fmt::format("; {}, continue with {}",
                                   out_of_memory ? "where there is more memory" : "once that is fixed", HowToContinue(options));
    }
    return tl::unexpected(std::move(error));
  }
  PrintResult(options, prepared.job.name, run, compute, follows, *outcome, had_receipt, Now() - begin);
  if (!outcome->interrupted) return kExitOk;
  std::fflush(stdout);
  progress.Note(fmt::format("interrupted after step {} of {}; continue with {}", outcome->step, prepared.job.steps,
                            HowToContinue(options)));
  return 128 + interrupt.signal();
}

int PrintFinished(const TrainOptions& options, const std::string& name, const RunDirectory& run, const Compute& compute,
                  const TrainOutcome& outcome) {
  PrintResult(options, name, run, compute, std::nullopt, outcome, true, 0);
  return kExitOk;
}

void AddTrainingOptions(Subcommand& sub, TrainOptions& options) {
  sub.Option("--data", options.data, "Data file or folder instead of the job's").Type("PATH");
  sub.Option("--key", options.key, "Signing key (assay keygen). Default: $ASSAY_KEY, or your own, made at first use")
      .Type("FILE");
  AddComputeOptions(sub, options.compute);
  sub.Flag("--no-telemetry", options.no_telemetry,
           "Keep no telemetry (telemetry.bin, which assay check reads). It is no part of the job or the receipt");
  sub.Option("--sample-ms", options.sample_ms,
             "Milliseconds between samples of telemetry. Default: 1000, less for short trainings")
      .Range(std::int64_t{10}, std::int64_t{600'000})
      .Type("MS");
  AddMlflowOptions(sub, options.showing);
  sub.Option(
         "--metrics", options.showing.metrics,
         "Serve the latest figures for Prometheus at http://HOST:PORT/metrics while it trains. A port alone: on this machine")
      .Type("HOST:PORT");
  sub.Flag("--json", options.json, "Print the result as one JSON object on the last line of standard output");
  sub.Flag("--quiet", options.quiet, "Only the result, no progress");
}

}  // namespace assay::cli
