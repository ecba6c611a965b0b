#include "assay/cli/load.h"

#include <cstdio>
#include <limits>
#include <utility>

#include "assay/model/import.h"
#include "assay/train/job_paths.h"

namespace assay::cli {
namespace {

Status LoadWeights(const std::string& path, LoadedModel& model) {
  ASSAY_ASSIGN(const Safetensors file, Safetensors::Open(path));
  model.specs = ModelState(model.prepared.job.model);
  for (const StateSpec& spec : model.specs) model.state.emplace_back(spec.type);
  return ImportWeights(model.prepared.job.model, file, model.specs, model.state);
}

Status LoadNewestSnapshot(const RunDirectory& run, ThreadPool& pool, LoadedModel& model) {
  const auto note = [](const std::string& text) { fmt::print(stderr, "assay: {}\n", text); };
  model.specs = model.prepared.program.state;
  ASSAY_ASSIGN(auto snapshot, run.NewestSnapshot(model.specs, std::numeric_limits<std::int64_t>::max(), pool, {}, note));
  if (!snapshot) return Err("{}: has no valid snapshot yet", run.path());
  model.snapshot = snapshot->info;
  model.state = std::move(snapshot->state);
  return {};
}

}  // namespace

Result<Job> LoadJobOf(const std::string& target, const std::string& data) {
  if (IsDirectory(target)) {
    ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(target));
    ASSAY_ASSIGN(Job job, LoadRunJob(run, data));
    ASSAY_TRY(CheckFilesOf(run, job));
    return job;
  }
  ASSAY_ASSIGN(Job job, LoadJob(target));
  if (!data.empty()) job.data.path = data;
  return job;
}

Result<LoadedModel> LoadModel(const ModelSource& source, ThreadPool& pool) {
  ASSAY_ASSIGN(Job job, LoadJobOf(source.target, source.data));
  LoadedModel model;
  std::optional<RunDirectory> run;
  if (IsDirectory(source.target)) {
    ASSAY_ASSIGN(run, RunDirectory::Open(source.target));
  }
  const bool own_data = run && source.data.empty();
  ASSAY_ASSIGN(model.prepared, own_data ? PrepareAgain(*run, std::move(job), &pool) : Prepare(std::move(job), &pool));
  if (!source.weights.empty()) {
    ASSAY_TRY(LoadWeights(source.weights, model));
    return model;
  }
  if (!run) return Err("{}: is a job file; name the weights to use with --weights FILE", source.target);
  if (own_data && run->identity().data != model.prepared.identity.data) {
    return Err("{}: the data here is not the data that the run committed to; name data to use with --data PATH", source.target);
  }
  ASSAY_TRY(LoadNewestSnapshot(*run, pool, model));
  return model;
}

}  // namespace assay::cli
