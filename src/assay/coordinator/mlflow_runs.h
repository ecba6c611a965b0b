// MlflowRuns: training leases as MLflow's runs, and accounts as its experiments. Read alone: nothing is changed through it.
//
//     experiment   an account; its id and its name are the account's
//     run          a training lease: one worker's run of an order. Its id is ORDER-LEASE
//     params       the settings of the job, where the order is not sealed
//     metrics      what the worker tells while it trains, and the run's own telemetry once it is delivered (histories.h)
//     tags         assay.order, assay.lease, assay.job, assay.worker, assay.state, assay.verdict, ...
//
// Thread safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/coordinator/mlflow_filter.h"
#include "assay/coordinator/office.h"
#include "assay/tracking/job_params.h"

namespace assay::coordinator {

struct MlflowMetric {
  std::string key{};
  double value = 0;
  std::int64_t at_ms = 0, step = 0;
};

struct MlflowRun {
  std::string id{}, name{}, experiment{}, status{};
  std::int64_t start_ms = 0, end_ms = 0;  // 0: not yet
  std::vector<MlflowMetric> metrics{};    // the last of each
  tracking::Params params{}, tags{};
};

struct MlflowRunName {
  std::string order{};
  life::LeaseNumber lease = 0;
};
std::string RunIdOf(const MlflowRunName& name);
std::optional<MlflowRunName> ParseRunId(std::string_view id);

Json NumberJson(double value);  // as protocol buffers write what JSON has no number for
Json ToJson(const MlflowMetric& metric);
Json ToJson(const MlflowRun& run);
MlflowSubject SubjectOf(const MlflowRun& run);

class MlflowRuns {
 public:
  // The office must outlive it.
  explicit MlflowRuns(Office& office) : office_(office) {}

  // The runs of an order, the newest first.
  Outcome<std::vector<MlflowRun>> Of(const std::string& account, const std::string& order);

 private:
  struct JobSide {
    std::string name{}, unit{};
    tracking::Params params{};
  };
  // Of an order that is not sealed; empty where its file is no job.
  std::shared_ptr<const JobSide> JobOf(const life::Order& order);
  Outcome<std::map<life::LeaseNumber, std::pair<std::int64_t, std::optional<life::Ending>>>> EndsOf(const std::string& order);

  static constexpr std::size_t kMostJobs = 1'024;
  Office& office_;
  std::mutex mutex_;
  std::map<Digest, std::shared_ptr<const JobSide>> jobs_;  // by the hash of job.toml
};

}  // namespace assay::coordinator
