#include "assay/coordinator/worker_gauges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace assay::coordinator {
namespace {

struct Row {
  const char* name;
  const char* type;
  const char* help;
  const char* key;  // of a sample
  bool gpu;         // of its object "gpu"
  double unit;      // what the sample's number is multiplied with
};
constexpr double kMebibyte = 1.0 / (1 << 20);
constexpr std::array<Row, 11> kRows = {{
    {"DCGM_FI_DEV_GPU_UTIL", "gauge", "GPU utilization (in %).", "util", true, 1},
    {"DCGM_FI_DEV_FB_USED", "gauge", "Framebuffer memory used (in MiB).", "memory", true, kMebibyte},
    {"DCGM_FI_DEV_POWER_USAGE", "gauge", "Power draw (in W).", "power", true, 1},
    {"DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", "counter", "Total energy consumption since boot (in mJ).", "energy", true, 1e3},
    {"DCGM_FI_DEV_GPU_TEMP", "gauge", "GPU temperature (in C).", "temperature", true, 1},
    {"DCGM_FI_DEV_SM_CLOCK", "gauge", "SM clock frequency (in MHz).", "clock", true, 1},
    {"assay_worker_cpu_cores", "gauge", "Processor cores in use", "cpu", false, 1},
    {"assay_worker_memory_bytes", "gauge", "Memory in use", "memory", false, 1},
    {"assay_worker_step", "gauge", "Steps completed of the order at hand", "step", false, 1},
    {"assay_worker_loss", "gauge", "Loss of the last step", "loss", false, 1},
    {"assay_worker_rate", "gauge", "Tokens, images or samples a second", "rate", false, 1},
}};

// NAME+HASH of NAME+HASH+DATA.
std::string IdOf(const std::string& key) {
  const std::size_t first = key.find('+');
  return key.substr(0, key.find('+', first == std::string::npos ? first : first + 1));
}

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

}  // namespace

void WorkerGauges::Take(const std::string& worker, const std::vector<Json>& samples, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  const std::string id = IdOf(worker);
  if (!workers_.contains(id) && workers_.size() >= kMostWorkers) {
    workers_.erase(std::ranges::min_element(workers_, {}, [](const auto& one) { return one.second.at_ms; }));
  }
  Figures& figures = workers_[id];
  figures.at_ms = now_ms;
  for (const Json& sample : samples) {
    if (!sample.is_object()) continue;
    const auto gpu = sample.find("gpu");
    for (std::size_t row = 0; row < kRows.size(); ++row) {
      if (kRows[row].gpu && (gpu == sample.end() || !gpu->is_object())) continue;
      const Json& from = kRows[row].gpu ? *gpu : sample;
      const auto value = from.find(kRows[row].key);
      if (value == from.end() || !value->is_number()) continue;
      const double number = value->get<double>() * kRows[row].unit;
      if (std::isfinite(number)) figures.values[row] = number;
    }
    if (gpu == sample.end() || !gpu->is_object()) continue;
    constexpr std::size_t kMostName = 96;
    if (const auto name = gpu->find("name"); name != gpu->end() && name->is_string())
      figures.model = name->get<std::string>().substr(0, kMostName);
  }
}

std::string WorkerGauges::Text(std::int64_t now_ms) const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (std::size_t row = 0; row < kRows.size(); ++row) {
    std::string lines;
    for (const auto& [id, figures] : workers_) {
      const auto value = figures.values.find(row);
      if (value == figures.values.end() || now_ms - figures.at_ms > kStaleMs) continue;
      const std::string gpu =
          kRows[row].gpu ? fmt::format("gpu=\"0\",modelName=\"{}\",", Escaped(figures.model)) : std::string();
      lines += fmt::format("{}{{{}Hostname=\"{}\"}} {}\n", kRows[row].name, gpu, Escaped(id), value->second);
    }
    if (lines.empty()) continue;
    text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{3}", kRows[row].name, kRows[row].help, kRows[row].type, lines);
  }
  return text;
}

}  // namespace assay::coordinator
