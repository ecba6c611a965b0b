// The run directory: one provider's execution of one job (docs/formats/run.md).
//
//   id                what is being trained: written last when a run is created, so a directory with it is complete
//   job.toml          the job, for people and for `assay eval`, `sample` and `show`
//   job.bin           its canonical encoding
//   program.bin       the canonical encoding of its training step
//   snapshots/        step-NNNNNNNNNN.safetensors, the state after so many steps
//   events/           TensorBoard event files
//   model.safetensors the trained weights, once the last step is done
//   lock              held while a process trains here
//
// Every file but the event files is written whole or not at all. Not synchronised; the lock keeps other processes out while training.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/file.h"
#include "assay/base/result.h"
#include "assay/run/identity.h"
#include "assay/run/snapshot.h"

namespace assay {

// What a run is created from.
struct RunContent {
  RunIdentity identity;
  std::string job_toml;
  Bytes job;
  Bytes program;
};

class RunDirectory {
 public:
  // Creates the directory, or opens one that has the same trajectory (a longer or shorter run of the same job continues it), and locks
  // it. Refuses directories of other jobs and directories that hold anything else.
  static Result<RunDirectory> OpenForTraining(const std::string& path, const RunContent& content);
  // For reading; takes no lock.
  static Result<RunDirectory> Open(const std::string& path);
  static bool IsRun(const std::string& path);

  const std::string& path() const { return path_; }
  const RunIdentity& identity() const { return identity_; }
  std::string job_path() const { return JoinPath(path_, "job.toml"); }
  std::string events_path() const { return JoinPath(path_, "events"); }
  std::string weights_path() const { return JoinPath(path_, "model.safetensors"); }
  std::string SnapshotPath(std::int64_t step) const;

  Result<std::vector<std::int64_t>> SnapshotSteps() const;  // ascending
  // The newest snapshot of at most `max_step` that passes every check; damaged ones are told to `note` and passed over.
  Result<std::optional<Snapshot>> NewestSnapshot(std::span<const StateSpec> specs, std::int64_t max_step, ThreadPool& pool,
                                                 const std::function<void(const std::string&)>& note) const;
  // Removes the oldest of the snapshots up to `step` so that `keep` of them remain; 0 keeps all.
  Status Prune(std::int64_t step, std::int64_t keep) const;

 private:
  explicit RunDirectory(std::string path) : path_(std::move(path)) {}
  Status Create(const RunContent& content);
  Status RemoveTemporaries() const;
  std::string path_;
  RunIdentity identity_;
  std::optional<FileLock> lock_;
};

}  // namespace assay
