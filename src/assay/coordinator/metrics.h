// Metrics: what a coordinator counts, in the text format of Prometheus. Thread safe; gauges are added before the server starts.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "assay/coordinator/routes.h"

namespace assay::coordinator {

class Metrics {
 public:
  // A request was answered. `route`: null where it had none.
  void Count(const Route* route, int status, double seconds);
  // The server answered by itself: there was no request, or no room for it.
  void CountOwn(int status);
  void Add(const std::string& counter, double by);  // a counter by its name, which ends in _total
  void AddGauge(std::string name, std::string help, std::function<double()> value);
  void AddPart(std::function<std::string()> text);  // whole lines of the format, of names that nobody else has

  std::string Text() const;

 private:
  static constexpr std::array<double, 12> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30};
  struct Histogram {
    std::array<std::uint64_t, kBounds.size()> up_to{};
    std::uint64_t count = 0;
    double sum = 0;
  };
  struct Gauge {
    std::string name, help;
    std::function<double()> value;
  };

  mutable std::mutex mutex_;
  std::map<std::pair<const Route*, int>, std::uint64_t> requests_;
  std::map<std::string, Histogram> seconds_;  // by kind: what takes as long as its peer wants is apart
  std::map<std::string, double> counters_;
  std::vector<Gauge> gauges_;
  std::vector<std::function<std::string()>> parts_;
};

}  // namespace assay::coordinator
