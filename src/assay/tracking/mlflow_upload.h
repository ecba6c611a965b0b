// MlflowUpload: a run of ours as a run of an MLflow server, brought up to date from the run's directory as often as wanted, while it trains or long after.
//
// What the server has is written down at the server, by the same call that brings it: the tag assay.records, the number of telemetry records that it has been told.
// So nothing is kept here, any process may go on where another stopped, and after a call whose end is not known the server is asked. The run there is found by its
// tag assay.run, the hash of its first record. Not thread safe, but for Cancel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/run/directory.h"
#include "assay/tracking/job_params.h"
#include "assay/tracking/mlflow_client.h"
#include "assay/tracking/points.h"
#include "assay/tracking/telemetry_tail.h"

namespace assay::tracking {

inline constexpr std::size_t kMaxBatchMetrics = 1000;  // that an MLflow server takes in one call
inline constexpr std::size_t kMaxBatchParams = 100;

class MlflowUpload {
 public:
  // `run` may still be without telemetry.
  static Result<std::unique_ptr<MlflowUpload>> Open(const std::string& run_path, const MlflowServer& server,
                                                    const std::string& experiment);

  // Sends what the server lacks. An error that passes: later; what had arrived is not sent again.
  MlflowResult<void> Round();
  // Says how the run stands: RUNNING, FINISHED, KILLED. Round says FINISHED by itself when it has told the record that a run ends with.
  MlflowResult<void> SetStatus(const std::string& status);

  bool finished() const { return finished_; }            // all is told of a run that has ended
  std::uint64_t told() const { return told_; }           // records that the server has
  std::uint64_t metrics_sent() const { return sent_; }   // by this object
  const std::string& run_id() const { return run_id_; }  // the server's; empty before the first contact
  const std::string& experiment() const { return experiment_; }
  void Cancel() { client_->Cancel(); }

 private:
  MlflowUpload(RunDirectory run, Job job, std::unique_ptr<MlflowClient> client, std::string experiment);
  MlflowResult<bool> ReadOn();  // whether there was anything
  void Take(const monitor::Record& record, const Digest& hash);
  // Finds or makes experiment and run, and what the server has been told.
  MlflowResult<void> Meet();
  MlflowResult<std::string> ExperimentId();
  MlflowResult<void> FindRun(const std::string& experiment_id);
  MlflowResult<void> CreateRun(const std::string& experiment_id);
  MlflowResult<void> SendParams();
  MlflowResult<void> SendQueued();
  void StartOver();
  template <class T>
  MlflowResult<T> Sent(MlflowResult<T> answer) {
    if (!answer) met_ = false;  // it may have arrived
    return answer;
  }

  struct Queued {
    std::uint64_t records = 0;  // that are told with it
    Point point{};
  };
  const RunDirectory run_;
  const Job job_;
  const std::unique_ptr<MlflowClient> client_;
  const std::string experiment_;

  std::optional<TelemetryTail> tail_;
  std::optional<PointMaker> maker_;
  std::vector<Queued> queue_;
  std::string first_hash_;  // of the first record, in hex: what the run is called
  std::int64_t began_ms_ = 0, last_ms_ = 0;
  bool ends_ = false;  // the last record that was read is a final seal

  bool met_ = false, has_params_ = false;
  std::string run_id_, status_;
  std::uint64_t told_ = 0, sent_ = 0;
  bool finished_ = false;
};

}  // namespace assay::tracking
