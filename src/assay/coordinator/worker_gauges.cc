#include "assay/coordinator/worker_gauges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace assay::coordinator {
namespace {

using tracking::Gauge;
using tracking::GaugeSet;

constexpr std::size_t kMostName = 96;

// NAME+HASH of NAME+HASH+DATA.
std::string IdOf(const std::string& key) {
  const std::size_t first = key.find('+');
  return key.substr(0, key.find('+', first == std::string::npos ? first : first + 1));
}

std::optional<double> FigureOf(const Json& from, const char* key) {
  const auto value = from.find(key);
  if (value == from.end() || !value->is_number() || !std::isfinite(value->get<double>())) return std::nullopt;
  return value->get<double>();
}

std::string NameOf(const Json& from, const char* key) {
  const auto value = from.find(key);
  return value == from.end() || !value->is_string() ? "" : value->get<std::string>().substr(0, kMostName);
}

void TakeOwn(const Json& sample, GaugeSet& set) {
  constexpr std::array<std::pair<const char*, Gauge>, 5> kKeys = {{{"cpu", Gauge::kCpuCores},
                                                                   {"memory", Gauge::kMemoryBytes},
                                                                   {"step", Gauge::kStep},
                                                                   {"loss", Gauge::kLoss},
                                                                   {"rate", Gauge::kRate}}};
  for (const auto& [key, gauge] : kKeys) {
    if (const auto figure = FigureOf(sample, key)) set[gauge] = *figure;
  }
}

// What the worker's driver does not tell is not in the sample, and not shown.
void TakeGpu(const Json& gpu, GaugeSet& set) {
  constexpr double kMost = 1e15;
  constexpr double kThousand = 1e3;
  const auto told = [&](const char* key, double unit) -> std::int64_t {
    const auto figure = FigureOf(gpu, key);
    if (!figure || *figure < 0 || *figure * unit > kMost) return monitor::kNotTold;
    return static_cast<std::int64_t>(std::llround(*figure * unit));
  };
  set.gpu = {.name = NameOf(gpu, "name"), .uuid = NameOf(gpu, "uuid"), .memory_total = told("total", 1)};
  set.gpu.index = std::max<std::int64_t>(0, told("index", 1));
  set.Set({.utilisation = told("util", 1),
           .memory = told("memory", 1),
           .power_mw = told("power", kThousand),
           .energy_mj = told("energy", kThousand),
           .temperature = told("temperature", 1),
           .clock_mhz = told("clock", 1)});
}

}  // namespace

void WorkerGauges::Take(const std::string& worker, const std::string& order, life::LeaseNumber lease,
                        const std::vector<Json>& samples, std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  const std::string id = IdOf(worker);
  if (!workers_.contains(id) && workers_.size() >= kMostWorkers) {
    workers_.erase(std::ranges::min_element(workers_, {}, [](const auto& one) { return one.second.at_ms; }));
  }
  Figures& figures = workers_[id];
  if (figures.order != order || figures.lease != lease) {  // what was told of other work is not of this one
    figures = {.order = order, .lease = lease};
    figures.set.labels = {{"Hostname", id}, {"worker", id}, {"order", order}, {"lease", std::to_string(lease)}};
  }
  figures.at_ms = now_ms;
  for (const Json& sample : samples) {
    if (!sample.is_object()) continue;
    TakeOwn(sample, figures.set);
    if (const auto gpu = sample.find("gpu"); gpu != sample.end() && gpu->is_object()) TakeGpu(*gpu, figures.set);
  }
}

std::string WorkerGauges::Text(std::int64_t now_ms) const {
  std::vector<GaugeSet> sets;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, figures] : workers_) {
      if (now_ms - figures.at_ms <= kStaleMs) sets.push_back(figures.set);
    }
  }
  return tracking::GaugeText(sets);
}

}  // namespace assay::coordinator
