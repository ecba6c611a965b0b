// The run directory: one provider's execution of one job (docs/formats/run.md).
//
//   id                what is being trained and who signs for it: comes last when a run is created
//   id.next           the id to come, while the files that it names are being written
//   job.toml          the job, for people and for `assay eval`, `sample`, `show` and `audit`
//   job.bin           its canonical encoding
//   program.bin       the canonical encoding of its training step
//   log/              the signed log of committed steps
//   snapshots/        step-NNNNNNNNNN.safetensors, the state after so many steps
//   events/           TensorBoard event files
//   telemetry.bin     what training measured of itself
//   rounding/         the rounding logs of the steps of fp64-rounded jobs
//   follows           of a run that follows another's rounding logs: whose
//   traces/           step-NNNNNNNNNN.trace, made on demand
//   model.safetensors the trained weights, once the last step is done
//   receipt.json      the signed commitment to the finished run: written last of all
//   lock              held while a process trains here
//
// Every file but the event files and telemetry.bin is written whole or not at all. Not synchronised; the lock keeps other processes out while
// training.
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
  std::int64_t steps = 0;  // that the job has
  std::string job_toml;
  Bytes job;
  Bytes program;
};

class RunDirectory {
 public:
  // Creates the directory, or opens one that has the same trajectory (a longer run of the same job continues it) and the same signer,
  // and locks it. Refuses directories of other jobs or signers, directories that hold anything else, and runs that have more steps
  // than the job already: a run is never cut back, since what is signed for would be thrown away. A receipt of what changes is removed first, with the weights of another number of steps. What a killed process left is removed, and what it
  // did not sync is synced.
  static Result<RunDirectory> OpenForTraining(const std::string& path, const RunContent& content, const VerifyKey& signer);
  // For reading; takes no lock.
  static Result<RunDirectory> Open(const std::string& path);
  // An error that says what `path` is instead of a directory.
  static Status CheckIsDirectory(const std::string& path);
  static bool IsRun(const std::string& path);
  // Whether there is what is written only after the id: without one the run is damaged. What an interrupted creation leaves is not a run yet.
  static bool HasRemains(const std::string& path);

  const std::string& path() const { return path_; }
  const RunHeader& header() const { return header_; }
  const RunIdentity& identity() const { return header_.identity; }
  const VerifyKey& signer() const { return header_.signer; }
  std::string job_path() const { return JoinPath(path_, "job.toml"); }
  std::string events_path() const { return JoinPath(path_, "events"); }
  std::string telemetry_path() const { return JoinPath(path_, "telemetry.bin"); }
  std::string log_path() const { return JoinPath(path_, "log"); }
  std::string rounding_path() const { return JoinPath(path_, "rounding"); }
  std::string follows_path() const { return JoinPath(path_, "follows"); }
  std::string weights_path() const { return JoinPath(path_, "model.safetensors"); }
  std::string receipt_path() const { return JoinPath(path_, "receipt.json"); }
  std::string TracePath(std::int64_t step) const;
  std::string SnapshotPath(std::int64_t step) const;

  Result<std::vector<std::int64_t>> SnapshotSteps() const;  // ascending; of plain files alone
  // The newest snapshot of at most `max_step` that passes every check and that `accept`, where there is one, has nothing against;
  // others are told to `note` and passed over.
  Result<std::optional<Snapshot>> NewestSnapshot(std::span<const StateSpec> specs, std::int64_t max_step, ThreadPool& pool,
                                                 const std::function<Status(const SnapshotInfo&)>& accept,
                                                 const std::function<void(const std::string&)>& note) const;
  // job.toml, job.bin and program.bin are those that the header names.
  Status CheckFixedFiles() const;
  // Removes the oldest of the snapshots up to `step` so that `keep` of them remain; 0 keeps all.
  Status Prune(std::int64_t step, std::int64_t keep) const;
  // Removes the snapshots after `step`, for good.
  Status RemoveSnapshotsAfter(std::int64_t step) const;

 private:
  RunDirectory(std::string path, RunHeader header) : path_(std::move(path)), header_(std::move(header)) {}
  Status CheckNotCutBack(const RunContent& content) const;
  Status RemoveOutdated(const RunHeader& before) const;
  Status Establish(const RunContent& content, const std::optional<RunHeader>& before) const;
  Status RemoveStrangers(const std::optional<RunHeader>& before) const;
  Status RemoveTemporaries() const;
  std::string path_;
  RunHeader header_;
  std::optional<FileLock> lock_;
};

// The step in the name of a snapshot's or of a trace's file; empty when it is no such name.
std::optional<std::int64_t> SnapshotStep(std::string_view name);
std::optional<std::int64_t> TraceStepOf(std::string_view name);

}  // namespace assay
