#include "assay/tracking/mlflow_upload.h"

#include <charconv>
#include <cmath>

#include "assay/train/prepare.h"

namespace assay::tracking {
namespace {

constexpr std::size_t kMaxValue = 500;  // bytes of a parameter or tag that every version of the server takes
constexpr char kRecordsTag[] = "assay.records";
constexpr char kParamsTag[] = "assay.params";
constexpr char kRunTag[] = "assay.run";

Json Tag(const std::string& key, const std::string& value) { return {{"key", key}, {"value", value.substr(0, kMaxValue)}}; }

// As protocol buffers write numbers that JSON has none for.
Json NumberJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

void AddMetrics(const Point& point, Json& metrics) {
  const auto names = MetricsOf(point.series);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!point.values[i]) continue;
    metrics.push_back(
        {{"key", names[i]}, {"value", NumberJson(*point.values[i])}, {"timestamp", point.at_ms}, {"step", point.step}});
  }
}

const Json* Find(const Json& json, std::initializer_list<const char*> path) {
  const Json* at = &json;
  for (const char* key : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(key);
    if (found == at->end()) return nullptr;
    at = &*found;
  }
  return at;
}

std::string TextAt(const Json& json, std::initializer_list<const char*> path) {
  const Json* found = Find(json, path);
  return found != nullptr && found->is_string() ? found->get<std::string>() : "";
}

std::string TagOf(const Json& run, std::string_view key) {
  const Json* tags = Find(run, {"data", "tags"});
  if (tags == nullptr || !tags->is_array()) return "";
  for (const Json& tag : *tags) {
    if (TextAt(tag, {"key"}) == key) return TextAt(tag, {"value"});
  }
  return "";
}

std::uint64_t CountOf(const std::string& text) {
  std::uint64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

tl::unexpected<MlflowError> Unfit(const std::string& what) {
  return tl::unexpected(MlflowError{.message = "the server's answer to " + what + " has not the form of MLflow's"});
}

}  // namespace

Result<std::unique_ptr<MlflowUpload>> MlflowUpload::Open(const std::string& run_path, const MlflowServer& server,
                                                         const std::string& experiment) {
  ASSAY_ASSIGN(auto client, MlflowClient::Create(server));
  ASSAY_ASSIGN(RunDirectory run, RunDirectory::Open(run_path));
  ASSAY_ASSIGN(Job job, LoadJob(run.job_path()));
  return std::unique_ptr<MlflowUpload>(new MlflowUpload(std::move(run), std::move(job), std::move(client), experiment));
}

MlflowUpload::MlflowUpload(RunDirectory run, Job job, std::unique_ptr<MlflowClient> client, std::string experiment)
    : run_(std::move(run)), job_(std::move(job)), client_(std::move(client)), experiment_(std::move(experiment)) {
  StartOver();
}

void MlflowUpload::StartOver() {
  tail_.emplace(run_.telemetry_path(), run_.identity().trajectory, run_.signer());
  maker_.emplace(ThroughputOf(job_).per_step);
  queue_.clear();
  ends_ = false;
}

void MlflowUpload::Take(const monitor::Record& record, const Digest& hash) {
  if (record.index == 0) {
    first_hash_ = hash.hex();
    began_ms_ = record.wall_us / 1000;
  }
  last_ms_ = record.wall_us / 1000;
  const auto* seal = std::get_if<monitor::SealRecord>(&record.body);
  ends_ = seal != nullptr && seal->final;
  const auto point = maker_->Take(record);
  if (point && record.index >= told_) queue_.push_back({.records = record.index + 1, .point = *point});
}

MlflowResult<bool> MlflowUpload::ReadOn() {
  const auto read = tail_->Read([this](const monitor::Record& record, const Digest& hash) { Take(record, hash); });
  if (!read) return tl::unexpected(MlflowError{.message = read.error().message, .passes = read.error().system});
  return *read;
}

MlflowResult<void> MlflowUpload::Round() {
  while (true) {
    const auto more = ReadOn();
    if (!more) return tl::unexpected(more.error());
    if (first_hash_.empty()) return {};  // nothing has been measured yet
    if (!met_) {
      if (auto met = Meet(); !met) return met;
      continue;  // from the beginning, past what the server has
    }
    if (auto sent = SendQueued(); !sent) return sent;
    if (!*more) break;
  }
  const bool ended = ends_;
  if (status_ != (ended ? "FINISHED" : "RUNNING")) {
    if (auto set = SetStatus(ended ? "FINISHED" : "RUNNING"); !set) return set;
  }
  finished_ = ended;
  return {};
}

MlflowResult<void> MlflowUpload::SetStatus(const std::string& status) {
  if (run_id_.empty()) return {};
  Json body = {{"run_id", run_id_}, {"run_uuid", run_id_}, {"status", status}};
  if (status != "RUNNING") body["end_time"] = last_ms_;
  auto answer = Sent(client_->Post("runs/update", body));
  if (!answer) return tl::unexpected(answer.error());
  status_ = status;
  return {};
}

MlflowResult<std::string> MlflowUpload::ExperimentId() {
  const auto ask = [&] { return client_->Get("experiments/get-by-name", {{"experiment_name", experiment_}}); };
  auto found = ask();
  if (!found && found.error().code == "RESOURCE_DOES_NOT_EXIST") {
    const auto made = client_->Post("experiments/create", {{"name", experiment_}});
    if (made) {
      const std::string id = TextAt(*made, {"experiment_id"});
      if (id.empty()) return Unfit("experiments/create");
      return id;
    }
    if (made.error().code != "RESOURCE_ALREADY_EXISTS") return tl::unexpected(made.error());
    found = ask();  // somebody else was faster
  }
  if (!found) return tl::unexpected(found.error());
  const std::string id = TextAt(*found, {"experiment", "experiment_id"});
  if (id.empty()) return Unfit("experiments/get-by-name");
  return id;
}

MlflowResult<void> MlflowUpload::FindRun(const std::string& experiment_id) {
  const Json body = {{"experiment_ids", {experiment_id}},
                     {"filter", fmt::format("tags.`{}` = '{}'", kRunTag, first_hash_)},
                     {"run_view_type", "ACTIVE_ONLY"},
                     {"max_results", 1}};
  const auto found = client_->Post("runs/search", body);
  if (!found) return tl::unexpected(found.error());
  const Json* runs = Find(*found, {"runs"});
  if (runs == nullptr || !runs->is_array() || runs->empty()) return {};
  const Json& run = runs->front();
  // A server that does not understand the filter must not make us write into another's run.
  if (TagOf(run, kRunTag) != first_hash_) return Unfit("runs/search");
  run_id_ = TextAt(run, {"info", "run_id"});
  if (run_id_.empty()) return Unfit("runs/search");
  status_ = TextAt(run, {"info", "status"});
  told_ = CountOf(TagOf(run, kRecordsTag));
  has_params_ = !TagOf(run, kParamsTag).empty();
  return {};
}

MlflowResult<void> MlflowUpload::CreateRun(const std::string& experiment_id) {
  const Json tags = {Tag("mlflow.runName", job_.name),
                     Tag("mlflow.source.type", "LOCAL"),
                     Tag("mlflow.source.name", "assay"),
                     Tag(kRunTag, first_hash_),
                     Tag("assay.job", run_.identity().job.hex()),
                     Tag("assay.trajectory", run_.identity().trajectory.hex()),
                     Tag("assay.data", run_.identity().data.hex()),
                     Tag("assay.key", run_.signer().ToString()),
                     Tag("assay.throughput_unit", std::string(ThroughputOf(job_).unit) + "/s")};
  const auto made = client_->Post("runs/create", {{"experiment_id", experiment_id},
                                                  {"user_id", std::string(run_.signer().id())},
                                                  {"run_name", job_.name},
                                                  {"start_time", began_ms_},
                                                  {"tags", tags}});
  if (!made) return tl::unexpected(made.error());
  run_id_ = TextAt(*made, {"run", "info", "run_id"});
  if (run_id_.empty()) return Unfit("runs/create");
  status_ = "RUNNING";
  told_ = 0;
  has_params_ = false;
  return {};
}

MlflowResult<void> MlflowUpload::SendParams() {
  const Params params = ParamsOf(job_);
  for (std::size_t from = 0; from < params.size(); from += kMaxBatchParams) {
    const std::size_t to = std::min(params.size(), from + kMaxBatchParams);
    Json list = Json::array();
    for (std::size_t i = from; i < to; ++i) list.push_back(Tag(params[i].first, params[i].second));
    Json tags = Json::array();
    if (to == params.size()) tags.push_back(Tag(kParamsTag, std::to_string(params.size())));
    const auto sent = client_->Post("runs/log-batch", {{"run_id", run_id_}, {"params", list}, {"tags", tags}});
    if (!sent) return tl::unexpected(sent.error());
  }
  has_params_ = true;
  return {};
}

MlflowResult<void> MlflowUpload::Meet() {
  run_id_.clear();
  const auto experiment_id = ExperimentId();
  if (!experiment_id) return tl::unexpected(experiment_id.error());
  if (auto found = FindRun(*experiment_id); !found) return found;
  if (run_id_.empty()) {
    if (auto made = CreateRun(*experiment_id); !made) return made;
  }
  if (!has_params_) {
    if (auto sent = SendParams(); !sent) return sent;
  }
  met_ = true;
  StartOver();
  return {};
}

MlflowResult<void> MlflowUpload::SendQueued() {
  std::size_t from = 0;
  while (from < queue_.size()) {
    Json metrics = Json::array();
    std::size_t to = from;
    // What one record says is told by one call.
    while (to < queue_.size() && metrics.size() + kMostValues <= kMaxBatchMetrics) AddMetrics(queue_[to++].point, metrics);
    const std::uint64_t records = queue_[to - 1].records;
    const Json body = {{"run_id", run_id_}, {"metrics", metrics}, {"tags", {Tag(kRecordsTag, std::to_string(records))}}};
    if (auto sent = Sent(client_->Post("runs/log-batch", body)); !sent) return tl::unexpected(sent.error());
    told_ = records;
    sent_ += metrics.size();
    from = to;
  }
  queue_.clear();
  return {};
}

}  // namespace assay::tracking
