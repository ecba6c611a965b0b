#include "assay/cli/training.h"
#include "assay/service/remote_run.h"
#include "assay/train/job_paths.h"

namespace assay::cli {
namespace {

Result<PreparedJob> PrepareFrom(const TrainOptions& options, ThreadPool& pool) {
  ASSAY_ASSIGN(Job job, LoadJob(options.job));
  if (options.steps > 0) job.steps = options.steps;
  ASSAY_TRY(UseData(job, options.data));
  return Prepare(std::move(job), &pool);
}

// Options that would be silently ignored.
Status CheckUsed(const TrainOptions& options) {
  const std::string_view unused = options.patience_given ? "--patience" : !options.ca_file.empty() ? "--ca" : "";
  if (unused.empty() || service::IsUrl(options.follow)) return {};
  return Err("{}: belongs to --follow URL", unused);
}

Result<int> RunTrain(const TrainOptions& options) {
  ASSAY_TRY(CheckUsed(options));
  ASSAY_ASSIGN(Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(const PreparedJob prepared, PrepareFrom(options, *compute.pool));
  return TrainInto(options, prepared, std::move(compute));
}

}  // namespace

void AddTrain(Arguments& app, Command& command) {
  auto options = std::make_shared<TrainOptions>();
  Subcommand sub = app.Add("train", "Train a job into a run directory, or continue one that was interrupted");
  sub.Footer(
      "The run directory holds snapshots, TensorBoard events and, at the end, model.safetensors. Ctrl-C finishes the\n"
      "step, writes a snapshot and stops; `assay resume DIR`, or the same command, continues. However often it is\n"
      "interrupted, and on whatever machine, threads or kernels it runs, the job ends in the same bytes: compare the\n"
      "state root.\n"
      "\n"
      "--steps N is part of the job: a run that goes on to more steps has another job id and gets a new receipt.\n"
      "It does not stretch the learning rate's schedule, which ends where the job file says (schedule.length).\n"
      "\n"
      "Two honest runs of an fp64-rounded job may differ, and a dispute between them is undecided. --follow finds out\n"
      "whether another run is honest: this one takes its rounding decisions and stays the same to the end, or up to its\n"
      "first lie. From there it goes on by itself, and a dispute between the two decides. The other's logs are checked\n"
      "against its receipt before they are used.\n"
      "\n"
      "Example: assay train examples/shakespeare-char.toml --data shakespeare.txt --out runs/shakespeare\n"
      "         assay train examples/gpt2-tiny-rounded.toml --out runs/followed --follow http://theirs:7411");
  sub.Option("job", options->job, "Job file (TOML; docs/JOBS.md)").Required().Type("JOB");
  sub.Option("--out", options->out, "Run directory; created if it does not exist").Required().NotEmpty().Type("DIR");
  sub.Option("--steps", options->steps,
             "Steps to train, instead of the job's number. A run with fewer is continued, one with more is refused")
      .Range(std::int64_t{1}, std::int64_t{0xffffffff})
      .Type("N");
  sub.Option("--follow", options->follow,
             "For fp64-rounded jobs: take the rounding decisions of this run, to dispute it. A directory, or the URL of an "
             "`assay provide`")
      .Type("RUN|URL");
  sub.Option("--patience", options->patience_s, "With --follow URL: seconds to wait for each answer")
      .Range(0.1f, 1e6f)
      .NoteGiven(options->patience_given)
      .ShowDefault()
      .Type("S");
  sub.Option("--ca", options->ca_file, "With --follow URL: PEM certificates to trust instead of the system's").Type("FILE");
  AddTrainingOptions(sub, *options);
  SetCommand(sub, std::move(options), command, RunTrain);
}

}  // namespace assay::cli
