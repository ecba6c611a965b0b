#include "assay/base/file.h"
#include "assay/cli/finished_run.h"
#include "assay/cli/training.h"
#include "assay/train/job_paths.h"

namespace assay::cli {
namespace {

// Everything but the data's place and the key is in the run directory.
Result<PreparedJob> PreparedFrom(const RunDirectory& run, Job job, const TrainOptions& options, ThreadPool& pool) {
  ASSAY_TRY(CheckFilesOf(run, job, options.data));
  if (options.steps > 0) job.steps = options.steps;
  ASSAY_ASSIGN(PreparedJob prepared, PrepareAgain(run, std::move(job), &pool));
  if (prepared.identity.data != run.identity().data) {
    return Err("{}: the data here is not the data that the run committed to; name that data with --data PATH", run.path());
  }
  if (prepared.identity.trajectory != run.identity().trajectory) {
    return Err("{}: its job.toml is not the job it was begun with; assay fsck says more", run.path());
  }
  return prepared;
}

Result<int> RunResume(const TrainOptions& options) {
  const bool is_run = RunDirectory::IsRun(options.out) || RunDirectory::HasRemains(options.out);
  if (!is_run && Exists(JoinPath(options.out, "lock"))) {
    return Err("{}: no training has begun here: what began it failed before that; repeat the same assay train command",
               options.out);
  }
  ASSAY_ASSIGN(Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(options.out));
  ASSAY_ASSIGN(Job job, LoadRunJob(run, options.data));
  if (const auto outcome = FinishedOutcome(run, options.steps > 0 ? options.steps : job.steps))
    return PrintFinished(options, job.name, run, compute, *outcome);
  ASSAY_ASSIGN(const PreparedJob prepared, PreparedFrom(run, std::move(job), options, *compute.pool));
  return TrainInto(options, prepared, std::move(compute));
}

}  // namespace

void AddResume(Arguments& app, Command& command) {
  auto options = std::make_shared<TrainOptions>();
  Subcommand sub = app.Add("resume", "Continue a run that was interrupted, from its newest snapshot");
  sub.Footer(
      "The job is the one in the run directory, with its number of steps, or more with --steps. More steps make it another\n"
      "job, with another id and a new receipt, and do not stretch the learning rate's schedule. A finished run is left as\n"
      "it is. A run that follows another's rounding logs is continued by its `assay train --follow` command.\n"
      "\n"
      "Example: assay resume runs/shakespeare");
  sub.Option("run", options->out, "Run directory").Required().Type("RUN");
  sub.Option("--steps", options->steps, "Steps to go on to, instead of the run's number")
      .Range(std::int64_t{1}, std::int64_t{0xffffffff})
      .Type("N");
  AddTrainingOptions(sub, *options);
  SetCommand(sub, std::move(options), command, RunResume);
}

}  // namespace assay::cli
