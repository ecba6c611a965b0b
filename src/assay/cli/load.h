// Models to look at, evaluate or sample from: those of a run directory, or a job file with weights from elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/base/thread_pool.h"
#include "assay/train/prepare.h"

namespace assay::cli {

struct ModelSource {
  std::string target;   // a run directory or a job file
  std::string weights;  // a safetensors file; needed with a job file, optional with a run
  std::string data;     // data instead of the job's
};

struct LoadedModel {
  PreparedJob prepared;
  std::vector<StateSpec> specs;  // of `state`: at least the model's tensors, in name order
  std::vector<Tensor> state;
  std::optional<SnapshotInfo> snapshot;  // absent when the weights came from a file
};

// Reads `target` as a job: that of a run directory, or a job file. `data` replaces the job's where it is not empty.
Result<Job> LoadJobOf(const std::string& target, const std::string& data);

// The newest valid snapshot of a run, or the weights given. A run's own model goes with the data that it was trained on, wherever that is.
Result<LoadedModel> LoadModel(const ModelSource& source, ThreadPool& pool);

}  // namespace assay::cli
