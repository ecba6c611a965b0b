#include "assay/cli/showing.h"

#include <unistd.h>

#include <array>
#include <utility>

#include "assay/base/quote.h"
#include "assay/cli/listen_address.h"
#include "assay/train/prepare.h"

namespace assay::cli {
namespace {

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace

void AddMlflowOptions(Subcommand& sub, ShowingOptions& options) {
  sub.Option("--mlflow", options.mlflow,
             "Send loss, throughput, utilisation and memory to the MLflow server at this URL; with $MLFLOW_TRACKING_TOKEN")
      .Type("URL");
  sub.Option("--experiment", options.experiment, "With --mlflow: the experiment, made where there is none of this name")
      .ShowDefault()
      .NotEmpty()
      .Type("NAME");
  sub.Option("--mlflow-ca", options.ca_file, "With --mlflow: PEM certificates to trust instead of the system's").Type("FILE");
}

Showing::Showing(const Job& job) : maker_(ThroughputOf(job).per_step) {
  gauges_.labels = {{"Hostname", HostName()}, {"run", job.name}};
}

Showing::~Showing() {
  if (server_ != nullptr) server_->Stop();
}

Result<std::unique_ptr<Showing>> Showing::Start(const ShowingOptions& options, const Job& job, const std::string& run_path) {
  std::unique_ptr<Showing> showing(new Showing(job));
  showing->run_path_ = run_path;
  showing->mlflow_ = options.mlflow;
  if (!options.metrics.empty()) {
    ASSAY_ASSIGN(showing->server_,
                 HttpServer::Start({.listen = ListenAddress(options.metrics)},
                                   [self = showing.get()](HttpRequest request) { return self->Answer(request); }));
    showing->Note(fmt::format("metrics for Prometheus: {}/metrics", showing->server_->url()));
  }
  if (!options.mlflow.empty()) {
    auto server = tracking::MlflowServer::FromEnvironment(options.mlflow);
    server.ca_file = options.ca_file;
    ASSAY_ASSIGN(auto upload, tracking::MlflowUpload::Open(run_path, server, options.experiment));
    showing->stream_ = std::make_unique<tracking::MlflowStream>(
        std::move(upload), [self = showing.get()](const std::string& line) { self->Note(line); });
  }
  return showing;
}

void Showing::Attach(monitor::RecorderOptions& recorder) {
  recorder.on_record = [this](const monitor::Record& record, const Digest&) { Take(record); };
  recorder.on_gpu = [this](const monitor::GpuIdentity& gpu) {
    const std::lock_guard lock(mutex_);
    gauges_.gpu = gpu;
  };
}

void Showing::Take(const monitor::Record& record) {
  using tracking::Gauge;
  const std::lock_guard lock(mutex_);
  const auto point = maker_.Take(record);
  if (!point) return;
  gauges_[Gauge::kStep] = static_cast<double>(point->step);
  if (point->series == tracking::Series::kSteps) {
    gauges_[Gauge::kLoss] = point->values[0];
    if (point->values[1]) gauges_[Gauge::kRate] = point->values[1];
    return;
  }
  if (point->values[0]) gauges_[Gauge::kCpuCores] = point->values[0];
  gauges_[Gauge::kMemoryBytes] = point->values[1];
  if (const auto& sample = std::get<monitor::SampleRecord>(record.body); sample.gpu) gauges_.Set(*sample.gpu);
}

HttpResponse Showing::Answer(const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") return TextResponse(405, "expected GET");
  if (request.target.substr(0, request.target.find('?')) != "/metrics") return TextResponse(404, "there is /metrics alone");
  const std::lock_guard lock(mutex_);
  const std::string text = tracking::GaugeText({&gauges_, 1});
  return {.status = 200, .content_type = "text/plain; version=0.0.4; charset=utf-8", .body = Bytes(text.begin(), text.end())};
}

void Showing::Note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  notes_.push_back(line);
}

std::vector<std::string> Showing::TakeNotes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

void Showing::Finish(bool interrupted) {
  if (stream_ == nullptr) return;
  const Status told = stream_->Finish(interrupted);
  if (!told) {
    Note(fmt::format("MLflow: {}; send the rest with `assay log {} --mlflow {}`", told.error().message, ShellQuoted(run_path_),
                     ShellQuoted(mlflow_)));
  }
}

}  // namespace assay::cli
