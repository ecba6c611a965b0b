// The last figures of runs in the text format of Prometheus. Those of a GPU have the names, units and labels of NVIDIA's dcgm-exporter, so that its dashboards show
// them. What was not told is absent. Value types; pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/monitor/nvml.h"

namespace assay::tracking {

enum class Gauge : std::size_t {
  kGpuUtil,      // percent
  kGpuUsed,      // MiB
  kGpuFree,      // MiB
  kGpuPower,     // W
  kGpuEnergy,    // mJ
  kGpuDegrees,   // °C
  kGpuClock,     // MHz
  kCpuCores,     // in use
  kMemoryBytes,  // of the process
  kStep,
  kLoss,
  kRate,  // tokens, images or samples a second
};
inline constexpr std::size_t kGauges = 12;

// What one process says of itself.
struct GaugeSet {
  std::vector<std::pair<std::string, std::string>> labels{};  // of all: Hostname, order, ...
  monitor::GpuIdentity gpu{};
  std::array<std::optional<double>, kGauges> values{};

  std::optional<double>& operator[](Gauge gauge) { return values[static_cast<std::size_t>(gauge)]; }
  // Figures as telemetry has them.
  void Set(const monitor::GpuFigures& figures);
};

// Metric by metric, each with its HELP and TYPE. No two sets may have the same labels.
std::string GaugeText(std::span<const GaugeSet> sets);

}  // namespace assay::tracking
