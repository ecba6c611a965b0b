#include "assay/cli/training.h"

namespace assay::cli {
namespace {

Result<PreparedJob> PrepareFrom(const TrainOptions& options, ThreadPool& pool) {
  ASSAY_ASSIGN(Job job, LoadJob(options.job));
  if (options.steps > 0) job.steps = options.steps;
  if (!options.data.empty()) job.data.path = options.data;
  return Prepare(std::move(job), &pool);
}

Result<int> RunTrain(const TrainOptions& options) {
  ASSAY_ASSIGN(Compute compute, MakeCompute(options.compute));
  ASSAY_ASSIGN(const PreparedJob prepared, PrepareFrom(options, *compute.pool));
  return TrainInto(options, prepared, std::move(compute));
}

}  // namespace

void AddTrain(Arguments& app, Command& command) {
  auto options = std::make_shared<TrainOptions>();
  Subcommand sub = app.Add("train", "Train a job into a run directory, or continue one that was interrupted");
  sub.Footer(
      "The run directory holds snapshots, TensorBoard events and, at the end, model.safetensors. Ctrl-C finishes the step, "
      "writes a\n"
      "snapshot and stops; `assay resume DIR`, or the same command, continues. However often it is interrupted, and on "
      "whatever machine, threads or "
      "kernels\n"
      "it runs, the job ends in the same bytes: compare the state root.\n"
      "\n"
      "Two honest runs of an fp64-rounded job may differ, and a dispute between them is undecided. --follow tells whether "
      "another\n"
      "run is honest: this one takes its decisions, and is the same to the end, or up to its first lie, from which this one "
      "goes\n"
      "by itself; a dispute of the two then decides. Its logs are checked against its receipt before they are used.\n"
      "\n"
      "Example: assay train examples/shakespeare-char.toml --data shakespeare.txt --out runs/shakespeare\n"
      "         assay train examples/gpt2-tiny-rounded.toml --out runs/theirs-followed --follow http://theirs:8417");
  sub.Option("job", options->job, "Job file (TOML; docs/JOBS.md)").Required().Type("JOB");
  sub.Option("--out", options->out, "Run directory; created if it does not exist").Required().Type("DIR");
  sub.Option(
         "--steps", options->steps,
         "Train so many steps instead of the job's number; a run that has fewer is continued, one that has more is left alone")
      .Range(std::int64_t{1}, std::int64_t{0xffffffff})
      .Type("N");
  sub.Option("--follow", options->follow,
             "For fp64-rounded jobs: take the decisions of this run's rounding logs, to dispute it. A directory, or a URL of "
             "`assay provide`")
      .Type("RUN|URL");
  sub.Option("--patience", options->patience_s, "With --follow URL: seconds to wait for each thing that is asked for")
      .Range(0.1f, 1e6f)
      .ShowDefault()
      .Type("S");
  sub.Option("--ca", options->ca_file, "With --follow URL: PEM certificates to trust instead of the system's").Type("FILE");
  AddTrainingOptions(sub, *options);
  SetCommand(sub, std::move(options), command, RunTrain);
}

}  // namespace assay::cli
