#include "assay/tracking/gauges.h"

#include <fmt/format.h>

#include <cmath>

namespace assay::tracking {
namespace {

struct Row {
  const char* name;
  const char* type;
  const char* help;
};
constexpr std::array<Row, kGauges> kRows = {{
    {"DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %)."},
    {"DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB)."},
    {"DCGM_FI_DEV_FB_FREE", "gauge", "Framebuffer memory free (in MiB)."},
    {"DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W)."},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ)."},
    {"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C)."},
    {"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz)."},
    {"assay_worker_cpu_cores", "gauge", "Processor cores in use"},
    {"assay_worker_memory_bytes", "gauge", "Memory in use"},
    {"assay_worker_step", "gauge", "Steps completed of the job at hand"},
    {"assay_worker_loss", "gauge", "Loss of the last step"},
    {"assay_worker_rate", "gauge", "Tokens, images or samples a second"},
}};
constexpr std::size_t kGpuRows = 7;
constexpr double kMebibyte = 1.0 / (1 << 20);
constexpr double kMilli = 1e-3;

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) >= ' ') {
      out += c;
    }
  }
  return out;
}

std::string Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

void AddLabel(std::string& labels, std::string_view name, std::string_view value) {
  if (!value.empty()) labels += fmt::format("{}{}=\"{}\"", labels.empty() ? "" : ",", name, Escaped(value));
}

std::string LabelsOf(const GaugeSet& set, bool gpu) {
  std::string labels;
  if (gpu) {
    AddLabel(labels, "gpu", std::to_string(set.gpu.index));
    AddLabel(labels, "UUID", set.gpu.uuid);
    AddLabel(labels, "device", fmt::format("nvidia{}", set.gpu.index));
    AddLabel(labels, "modelName", set.gpu.name);
  }
  for (const auto& [name, value] : set.labels) AddLabel(labels, name, value);
  return labels.empty() ? labels : "{" + labels + "}";
}

}  // namespace

void GaugeSet::Set(const monitor::GpuFigures& figures) {
  const auto put = [&](Gauge gauge, std::int64_t figure, double unit) {
    (*this)[gauge].reset();
    if (figure != monitor::kNotTold) (*this)[gauge] = static_cast<double>(figure) * unit;
  };
  put(Gauge::kGpuUtil, figures.utilisation, 1);
  put(Gauge::kGpuUsed, figures.memory, kMebibyte);
  const bool free = figures.memory != monitor::kNotTold && gpu.memory_total >= figures.memory;
  put(Gauge::kGpuFree, free ? gpu.memory_total - figures.memory : monitor::kNotTold, kMebibyte);
  put(Gauge::kGpuPower, figures.power_mw, kMilli);
  put(Gauge::kGpuEnergy, figures.energy_mj, 1);
  put(Gauge::kGpuDegrees, figures.temperature, 1);
  put(Gauge::kGpuClock, figures.clock_mhz, 1);
}

std::string GaugeText(std::span<const GaugeSet> sets) {
  std::string text;
  for (std::size_t row = 0; row < kGauges; ++row) {
    std::string lines;
    for (const GaugeSet& set : sets) {
      if (set.values[row])
        lines += fmt::format("{}{} {}\n", kRows[row].name, LabelsOf(set, row < kGpuRows), Number(*set.values[row]));
    }
    if (lines.empty()) continue;
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", kRows[row].name, kRows[row].help, kRows[row].type, lines);
  }
  return text;
}

}  // namespace assay::tracking
