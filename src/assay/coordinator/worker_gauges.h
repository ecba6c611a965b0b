// WorkerGauges: the last figures of each worker, for Prometheus (tracking/gauges.h), with the lease that they are of.
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
#include "assay/life/entry.h"
#include "assay/tracking/gauges.h"

namespace assay::coordinator {

class WorkerGauges {
 public:
  static constexpr std::size_t kMostWorkers = 1'024;
  static constexpr std::int64_t kStaleMs = 60'000;

  // `worker`: a public key. `samples`: as a worker posts them under the lease; what has no figures is passed over.
  void Take(const std::string& worker, const std::string& order, life::LeaseNumber lease, const std::vector<Json>& samples,
            std::int64_t now_ms);
  std::string Text(std::int64_t now_ms) const;

 private:
  struct Figures {
    std::int64_t at_ms = 0;
    std::string order{};
    life::LeaseNumber lease = 0;
    tracking::GaugeSet set{};
  };
  mutable std::mutex mutex_;
  std::map<std::string, Figures> workers_;  // by NAME+HASH
};

}  // namespace assay::coordinator
