// What others see of a training while it goes on: its metrics at an MLflow server (--mlflow), and its figures for a Prometheus that scrapes them (--metrics). Training
// does not wait for either. What there is to say about them is kept for the thread that trains, whose progress line it goes beside.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "assay/cli/command.h"
#include "assay/job/job.h"
#include "assay/monitor/recorder.h"
#include "assay/net/http_server.h"
#include "assay/tracking/gauges.h"
#include "assay/tracking/mlflow_stream.h"
#include "assay/tracking/points.h"

namespace assay::cli {

struct ShowingOptions {
  std::string mlflow{};  // URL; empty: none
  std::string experiment = "assay";
  std::string metrics{};  // HOST:PORT; empty: none
  std::string ca_file{};  // for an https:// URL

  bool any() const { return !mlflow.empty() || !metrics.empty(); }
};
void AddMlflowOptions(Subcommand& sub, ShowingOptions& options);

class Showing {
 public:
  // The run's directory is there. Begins to serve, and to look at the run.
  static Result<std::unique_ptr<Showing>> Start(const ShowingOptions& options, const Job& job, const std::string& run_path);
  ~Showing();
  Showing(const Showing&) = delete;
  Showing& operator=(const Showing&) = delete;

  // Has the recorder tell it what it records; it must outlive the training.
  void Attach(monitor::RecorderOptions& recorder);
  // Lines for people.
  std::vector<std::string> TakeNotes();
  // Training is over: the rest is sent, for some seconds.
  void Finish(bool interrupted);

 private:
  explicit Showing(const Job& job);
  void Take(const monitor::Record& record);
  HttpResponse Answer(const HttpRequest& request);
  void Note(const std::string& line);

  std::string run_path_, mlflow_;
  std::mutex mutex_;  // of what follows
  std::vector<std::string> notes_;
  tracking::PointMaker maker_;
  tracking::GaugeSet gauges_;

  std::unique_ptr<HttpServer> server_;
  std::unique_ptr<tracking::MlflowStream> stream_;
};

}  // namespace assay::cli
