#include "assay/coordinator/metrics.h"

namespace assay::coordinator {
namespace {

std::string KindOf(const Route* route) {
  if (route == nullptr || route->answer != nullptr) return "answer";
  return route->upload != nullptr ? "upload" : "held";
}

}  // namespace

void Metrics::Count(const Route* route, int status, double seconds) {
  const std::lock_guard lock(mutex_);
  ++requests_[{route, status}];
  Histogram& histogram = seconds_[KindOf(route)];
  for (std::size_t i = 0; i < kBounds.size(); ++i) {
    if (seconds <= kBounds[i]) ++histogram.up_to[i];
  }
  ++histogram.count;
  histogram.sum += seconds;
}

void Metrics::CountOwn(int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{nullptr, status}];
}

void Metrics::Add(const std::string& counter, double by) {
  const std::lock_guard lock(mutex_);
  counters_[counter] += by;
}

void Metrics::AddGauge(std::string name, std::string help, std::function<double()> value) {
  gauges_.push_back({std::move(name), std::move(help), std::move(value)});
}

void Metrics::AddPart(std::function<std::string()> text) { parts_.push_back(std::move(text)); }

std::string Metrics::Text() const {
  std::string text;
  for (const auto& part : parts_) text += part();
  const auto line = [&](const std::string& name, double value) { text += fmt::format("{} {}\n", name, value); };
  for (const Gauge& gauge : gauges_) {
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", gauge.name, gauge.help);
    line(gauge.name, gauge.value());
  }
  const std::lock_guard lock(mutex_);
  for (const auto& [name, value] : counters_) {
    text += fmt::format("# TYPE {} counter\n", name);
    line(name, value);
  }
  text += "# HELP assay_http_requests_total Requests that were answered\n# TYPE assay_http_requests_total counter\n";
  for (const auto& [key, count] : requests_) {
    const auto& [route, status] = key;
    text += fmt::format("assay_http_requests_total{{method=\"{}\",path=\"{}\",status=\"{}\"}} {}\n",
                        route == nullptr ? "" : route->method, route == nullptr ? "" : route->path, status, count);
  }
  text +=
      "# HELP assay_http_request_seconds From a request's header to its answer; held: long polls, streams and files\n"
      "# TYPE assay_http_request_seconds histogram\n";
  for (const auto& [kind, histogram] : seconds_) {
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
      text +=
          fmt::format("assay_http_request_seconds_bucket{{kind=\"{}\",le=\"{}\"}} {}\n", kind, kBounds[i], histogram.up_to[i]);
    }
    text += fmt::format(
        "assay_http_request_seconds_bucket{{kind=\"{0}\",le=\"+Inf\"}} {1}\nassay_http_request_seconds_sum{{kind=\"{0}\"}} "
        "{2}\n",
        kind, histogram.count, histogram.sum);
    text += fmt::format("assay_http_request_seconds_count{{kind=\"{}\"}} {}\n", kind, histogram.count);
  }
  return text;
}

}  // namespace assay::coordinator
