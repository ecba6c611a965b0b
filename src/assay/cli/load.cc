#include "assay/cli/load.h"

#include <cstdio>
#include <limits>
#include <utility>

#include "assay/cli/verification.h"
#include "assay/train/job_paths.h"
#include "assay/train/starting_weights.h"

namespace assay::cli {
namespace {

Status LoadWeights(const std::string& path, LoadedModel& model) {
  model.specs = ModelState(model.prepared.job.model);
  for (const StateSpec& spec : model.specs) model.state.emplace_back(spec.type);
  return LoadStartingWeights(path, model.prepared.job.model, model.specs, model.state);
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

Error OtherData(const RunDirectory& run, const ModelSource& source, const Digest& root) {
  const std::string roots = fmt::format("its root is {:.16}, the run's {:.16}", root.hex(), run.identity().data.hex());
  if (source.data.empty()) {
    return {fmt::format("{}: the data here is not the data that the run committed to: {}; name that data with --data PATH",
                        source.target, roots)};
  }
  return {fmt::format("--data {}: is not the data of the run {}: {}; for other data name a job file and --weights {}",
                      source.data, source.target, roots, run.weights_path())};
}

// Other data may not fit the model, which is then not what is wrong.
Result<PreparedJob> Prepared(const RunDirectory& run, const ModelSource& source, const Job& job, ThreadPool& pool) {
  auto prepared = Prepare(job, &pool);
  if (prepared) return prepared;
  const auto data = OpenData(job.data, job.batch.sequence, &pool);
  if (!data || data->root == run.identity().data) return prepared;
  return tl::unexpected(OtherData(run, source, data->root));
}

}  // namespace

Result<Job> LoadJobOf(const std::string& target, const std::string& data) {
  if (IsDelivery(target)) return tl::unexpected(NotARunButADelivery(target));
  if (IsDirectory(target)) {
    ASSAY_ASSIGN(const RunDirectory run, RunDirectory::Open(target));
    ASSAY_ASSIGN(Job job, LoadRunJob(run, data));
    ASSAY_TRY(CheckFilesOf(run, job, data));
    return job;
  }
  ASSAY_ASSIGN(Job job, LoadJob(target));
  ASSAY_TRY(UseData(job, data));
  return job;
}

Result<LoadedModel> LoadModel(const ModelSource& source, ThreadPool& pool) {
  ASSAY_ASSIGN(Job job, LoadJobOf(source.target, source.data));
  LoadedModel model;
  std::optional<RunDirectory> run;
  if (IsDirectory(source.target)) {
    ASSAY_ASSIGN(run, RunDirectory::Open(source.target));
  }
  auto prepared = run ? Prepared(*run, source, job, pool) : Prepare(job, &pool);
  if (!prepared) return tl::unexpected(prepared.error());
  model.prepared = *std::move(prepared);
  if (!source.weights.empty()) {
    ASSAY_TRY(LoadWeights(source.weights, model));
    return model;
  }
  if (!run) return Err("{}: is a job file; name the weights to use with --weights FILE", source.target);
  if (const Digest& root = model.prepared.identity.data; run->identity().data != root) {
    return tl::unexpected(OtherData(*run, source, root));
  }
  ASSAY_TRY(LoadNewestSnapshot(*run, pool, model));
  return model;
}

}  // namespace assay::cli
