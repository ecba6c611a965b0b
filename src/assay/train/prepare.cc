#include "assay/train/prepare.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "assay/base/file.h"
#include "assay/job/limits.h"
#include "assay/train/job_paths.h"
#include "assay/train/starting_weights.h"

namespace assay {
namespace {

// Jobs that differ in their number of steps alone pass through the same states.
Digest TrajectoryId(Job job, const JobInputs& inputs, const Program& program) {
  job.steps = 0;
  return JobId(job, inputs, program);
}

// Whoever holds the job may change the working directory.
void MakePathsAbsolute(Job& job) {
  for (std::string* path : PathsOf(job)) {
    if (!path->empty()) *path = std::filesystem::absolute(*path).string();
  }
}

Result<PreparedJob> PrepareUnlocated(Job job, ThreadPool* pool, Allowance& allowance) {
  PreparedJob prepared;
  ASSAY_TRY(TakeModelFromFolder(job));
  if (!job.data.path.empty() && !Exists(job.data.path)) {
    return Err("data.path: {}: No such file or directory; --data PATH names other data", job.data.path);
  }
  if (!job.init_weights.empty() && !Exists(job.init_weights)) {
    return Err("init.weights: {}: No such file or directory", job.init_weights);
  }
  ASSAY_ASSIGN(prepared.data, OpenData(job.data, job.batch.sequence, pool, allowance));
  ASSAY_TRY(ResolveModel(job, prepared.data));
  prepared.inputs.data = prepared.data.root;
  // A job that cannot start must leave no run behind.
  if (!job.init_weights.empty()) {
    ASSAY_ASSIGN(prepared.inputs.weights, CheckStartingWeights(job.init_weights, job.model, allowance));
  }
  prepared.program = BuildProgram(job.model, job.optimizer, job.batch, DigitsOf(job.precision));
  ASSAY_TRY(CheckDisputable(job, prepared.inputs, prepared.program));
  prepared.identity = {.job = JobId(job, prepared.inputs, prepared.program),
                       .trajectory = TrajectoryId(job, prepared.inputs, prepared.program),
                       .data = prepared.data.root};
  prepared.job = std::move(job);
  return prepared;
}

}  // namespace

Result<PreparedJob> Prepare(Job job, ThreadPool* pool) {
  Allowance everything;
  return Prepare(std::move(job), pool, everything);
}

Result<PreparedJob> Prepare(Job job, ThreadPool* pool, Allowance& allowance) {
  MakePathsAbsolute(job);
  const std::string file = job.file;
  // What this machine lacks stands in no line of the job.
  return PrepareUnlocated(std::move(job), pool, allowance).map_error([&](Error error) {
    return error.system ? error : LocatedInFile(file, std::move(error));
  });
}

Result<PreparedJob> PrepareAgain(const RunDirectory& run, Job job, ThreadPool* pool) {
  MakePathsAbsolute(job);
  auto prepared = Prepare(job, pool);
  if (prepared) return prepared;
  const auto data = OpenData(job.data, job.batch.sequence, pool);
  if (!data || data->root == run.identity().data) return prepared;
  return Err(
      "{}: the data here is not the data that the run committed to: its root is {:.16}, the run's {:.16}; name that data with "
      "--data PATH",
      run.path(), data->root.hex(), run.identity().data.hex());
}

RunContent ContentOf(const PreparedJob& prepared, const std::string& run_path) {
  return {.identity = prepared.identity,
          .steps = prepared.job.steps,
          .job_toml = ToToml(PortableJob(prepared.job, run_path)),
          .job = Encode(prepared.job, prepared.inputs),
          .program = Encode(prepared.program)};
}

Result<State> StartingState(const PreparedJob& prepared) {
  State state = InitialState(prepared.program, prepared.job.seed);
  if (!prepared.job.init_weights.empty()) {
    ASSAY_TRY(LoadStartingWeights(prepared.job.init_weights, prepared.job.model, prepared.program.state, state));
  }
  return state;
}

Throughput ThroughputOf(const Job& job) {
  const auto samples = static_cast<double>(job.batch.microbatch * job.batch.microbatches);
  if (std::holds_alternative<ResNetConfig>(job.model)) return {"images", samples};
  if (std::holds_alternative<MlpConfig>(job.model)) return {"samples", samples};
  return {"tokens", samples * static_cast<double>(job.batch.sequence)};
}

}  // namespace assay
