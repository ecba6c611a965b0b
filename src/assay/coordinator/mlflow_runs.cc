#include "assay/coordinator/mlflow_runs.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "assay/coordinator/run_check.h"
#include "assay/train/prepare.h"

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;

constexpr std::size_t kMaxJobFile = 1 << 20;

std::string_view StateName(life::Lease::State state) {
  switch (state) {
    case life::Lease::State::kOpen: return "open";
    case life::Lease::State::kGone: return "gone";
    case life::Lease::State::kHeld: return "held";
    case life::Lease::State::kOut: break;
  }
  return "out";
}

std::string_view StatusOf(const life::Lease& lease, const std::optional<life::Ending>& ending) {
  if (lease.state == life::Lease::State::kOpen) return "RUNNING";
  if (lease.state == life::Lease::State::kHeld) return "FINISHED";
  return ending == life::Ending::kCancelled ? "KILLED" : "FAILED";
}

Json PairsJson(const tracking::Params& pairs) {
  Json list = Json::array();
  for (const auto& [key, value] : pairs) list.push_back({{"key", key}, {"value", value}});
  return list;
}

std::optional<MlflowValue> TextIn(const tracking::Params& pairs, const std::string& key) {
  for (const auto& [name, value] : pairs) {
    if (name == key) return value;
  }
  return std::nullopt;
}

tracking::Params TagsOf(const life::Life& life, const life::Lease& lease, const std::string& account) {
  const auto& decision = life.decision();
  tracking::Params tags = {{"assay.order", life.order().id},
                           {"assay.lease", std::to_string(lease.number)},
                           {"assay.job", life.order().job.hex()},
                           {"assay.worker", lease.worker},
                           {"assay.state", std::string(StateName(lease.state))},
                           {"assay.sealed", life.order().sealed.empty() ? "false" : "true"},
                           {"mlflow.user", account},
                           {"mlflow.source.type", "JOB"},
                           {"mlflow.source.name", "assay"}};
  if (lease.convicted) tags.emplace_back("assay.convicted", "true");
  if (lease.receipt) tags.emplace_back("assay.state_root", lease.receipt->final_state_root.hex());
  if (decision) {
    tags.emplace_back("assay.verdict", std::string(life::Name(decision->verdict)));
    tags.emplace_back("assay.delivered", decision->lease == lease.number ? "true" : "false");
  }
  return tags;
}

}  // namespace

std::string RunIdOf(const MlflowRunName& name) { return fmt::format("{}-{}", name.order, name.lease); }

std::optional<MlflowRunName> ParseRunId(std::string_view id) {
  const std::size_t dash = id.find('-');
  if (dash == std::string_view::npos || !life::IsOrderId(id.substr(0, dash))) return std::nullopt;
  MlflowRunName name{.order = std::string(id.substr(0, dash))};
  const std::string_view number = id.substr(dash + 1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), name.lease);
  if (error != std::errc() || RunIdOf(name) != id || name.lease < 1) return std::nullopt;
  return name;
}

Json NumberJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json ToJson(const MlflowMetric& metric) {
  return {{"key", metric.key}, {"value", NumberJson(metric.value)}, {"timestamp", metric.at_ms}, {"step", metric.step}};
}

Json ToJson(const MlflowRun& run) {
  Json info = {{"run_uuid", run.id},   {"experiment_id", run.experiment}, {"run_name", run.name}, {"user_id", run.experiment},
               {"status", run.status}, {"start_time", run.start_ms}};
  if (run.end_ms != 0) info["end_time"] = run.end_ms;
  info["artifact_uri"] = "";
  info["lifecycle_stage"] = "active";
  info["run_id"] = run.id;
  Json metrics = Json::array();
  for (const MlflowMetric& metric : run.metrics) metrics.push_back(ToJson(metric));
  return {{"info", std::move(info)},
          {"data", {{"metrics", std::move(metrics)}, {"params", PairsJson(run.params)}, {"tags", PairsJson(run.tags)}}},
          {"inputs", Json::object()},
          {"outputs", Json::object()}};
}

MlflowSubject SubjectOf(const MlflowRun& run) {
  return [&run](const MlflowField& field) -> std::optional<MlflowValue> {
    switch (field.of) {
      case MlflowField::Of::kParam: return TextIn(run.params, field.key);
      case MlflowField::Of::kTag: return TextIn(run.tags, field.key);
      case MlflowField::Of::kMetric:
        for (const MlflowMetric& metric : run.metrics) {
          if (metric.key == field.key) return metric.value;
        }
        return std::nullopt;
      case MlflowField::Of::kAttribute: break;
    }
    if (field.key == "run_id" || field.key == "run_uuid") return run.id;
    if (field.key == "run_name" || field.key == "name") return run.name;
    if (field.key == "status") return run.status;
    if (field.key == "user_id" || field.key == "experiment_id") return run.experiment;
    if (field.key == "start_time" || field.key == "created") return static_cast<double>(run.start_ms);
    if (field.key == "end_time" && run.end_ms != 0) return static_cast<double>(run.end_ms);
    return std::nullopt;
  };
}

std::shared_ptr<const MlflowRuns::JobSide> MlflowRuns::JobOf(const life::Order& order) {
  static const auto kNothing = std::make_shared<const JobSide>();
  const auto file = std::ranges::find(order.files, life::kJobFile, &life::OrderFile::name);
  if (!order.sealed.empty() || file == order.files.end()) return kNothing;
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = jobs_.find(file->sha256); found != jobs_.end()) return found->second;
  }
  auto side = std::make_shared<JobSide>();
  const auto bytes = ReadBlob(office_.blobs, file->sha256, kMaxJobFile);
  if (!bytes) return kNothing;  // the blobs do not answer now, or it is none of a job's size
  if (const auto job = ParseJob({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, "job.toml")) {
    *side = {.name = job->name, .unit = std::string(ThroughputOf(*job).unit), .params = tracking::ParamsOf(*job)};
  }
  const std::lock_guard lock(mutex_);
  if (jobs_.size() >= kMostJobs) jobs_.erase(jobs_.begin());
  return jobs_[file->sha256] = std::move(side);
}

Outcome<std::map<life::LeaseNumber, std::pair<std::int64_t, std::optional<life::Ending>>>> MlflowRuns::EndsOf(
    const std::string& order) {
  using Ends = std::map<life::LeaseNumber, std::pair<std::int64_t, std::optional<life::Ending>>>;
  return OrFail(office_.database.Read([&](Transaction& t) -> Result<Ends> {
    Ends ends;
    ASSAY_ASSIGN(const Rows rows, t.Run("SELECT text FROM entries WHERE order_id = $1 ORDER BY n", {order}));
    for (const store::Row& row : rows) {
      ASSAY_ASSIGN(const std::string text, row.Text(0));
      ASSAY_ASSIGN(const life::Entry entry, life::ParseEntry(text, "entry"));
      if (const auto* received = std::get_if<life::Received>(&entry.event)) ends[received->lease] = {entry.at, std::nullopt};
      if (const auto* released = std::get_if<life::Released>(&entry.event)) ends[released->lease] = {entry.at, released->why};
    }
    return ends;
  }));
}

Outcome<std::vector<MlflowRun>> MlflowRuns::Of(const std::string& account, const std::string& order) {
  ASSAY_ASSIGN(const auto written, OrFail(office_.book.Look(order)));
  const life::Life& life = written->life;
  ASSAY_ASSIGN(const auto ends, EndsOf(order));
  const auto job = JobOf(life.order());
  std::vector<MlflowRun> runs;
  for (const auto& [number, lease] : life.leases()) {
    if (lease.role != life::Role::kTrain) continue;
    MlflowRun run{.id = RunIdOf({order, number}), .experiment = account, .start_ms = lease.since * 1000, .params = job->params};
    run.name = job->name.empty() ? fmt::format("{:.8}-{}", order, number) : fmt::format("{}-{}", job->name, number);
    run.tags = TagsOf(life, lease, account);
    run.tags.emplace_back("mlflow.runName", run.name);
    if (!job->unit.empty()) run.tags.emplace_back("assay.throughput_unit", job->unit + "/s");
    std::optional<life::Ending> ending;
    if (const auto end = ends.find(number); end != ends.end()) {
      run.end_ms = end->second.first * 1000;
      ending = end->second.second;
    }
    run.status = StatusOf(lease, ending);
    ASSAY_ASSIGN(const auto last, OrFail(office_.histories.Last(order, number)));
    for (const tracking::Point& point : last) {
      const auto names = tracking::MetricsOf(point.series);
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (point.values[i])
          run.metrics.push_back(
              {.key = std::string(names[i]), .value = *point.values[i], .at_ms = point.at_ms, .step = point.step});
      }
    }
    runs.push_back(std::move(run));
  }
  std::ranges::reverse(runs);
  return runs;
}

}  // namespace assay::coordinator
