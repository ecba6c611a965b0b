// WorkerGauges: the last figures of each worker, for Prometheus. Those of a GPU have the names and units of NVIDIA's dcgm-exporter, so that its dashboards show them.
//
// They are workers' word. A worker that says nothing for a minute is left out, and at most kMostWorkers are kept, those that spoke last. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "assay/coordinator/answer.h"

namespace assay::coordinator {

class WorkerGauges {
 public:
  static constexpr std::size_t kMostWorkers = 1'024;
  static constexpr std::int64_t kStaleMs = 60'000;

  // `worker`: a public key. `samples`: as a worker posts them; what has no figures is passed over.
  void Take(const std::string& worker, const std::vector<Json>& samples, std::int64_t now_ms);
  std::string Text(std::int64_t now_ms) const;

 private:
  struct Figures {
    std::int64_t at_ms = 0;
    std::string model{};                     // of the GPU
    std::map<std::size_t, double> values{};  // by the row of the table of gauges
  };
  mutable std::mutex mutex_;
  std::map<std::string, Figures> workers_;  // by NAME+HASH
};

}  // namespace assay::coordinator
