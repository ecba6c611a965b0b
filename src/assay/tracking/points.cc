#include "assay/tracking/points.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <variant>

namespace assay::tracking {
namespace {

constexpr std::array<std::string_view, 2> kSteps = {"loss", "throughput"};
constexpr std::array<std::string_view, kMostValues> kSamples = {"cpu_util",          "memory_bytes", "gpu_util",
                                                                "gpu_memory_bytes",  "gpu_power_w",  "gpu_energy_j",
                                                                "gpu_temperature_c", "gpu_clock_mhz"};
constexpr double kMicro = 1e-6;
constexpr double kMilli = 1e-3;

}  // namespace

std::span<const std::string_view> MetricsOf(Series series) {
  if (series == Series::kSteps) return kSteps;
  return kSamples;
}

std::optional<MetricPlace> PlaceOf(std::string_view metric) {
  for (const Series series : {Series::kSteps, Series::kSamples}) {
    const auto names = MetricsOf(series);
    const auto found = std::ranges::find(names, metric);
    if (found != names.end()) return MetricPlace{series, static_cast<std::size_t>(found - names.begin())};
  }
  return std::nullopt;
}

std::optional<Point> PointMaker::Take(const monitor::Record& record) {
  if (std::holds_alternative<monitor::SessionRecord>(record.body)) {
    step_us_ = sample_us_ = sample_cpu_us_ = std::nullopt;
    return std::nullopt;
  }
  if (const auto* step = std::get_if<monitor::StepRecord>(&record.body)) {
    const Point point = OfStep(record, *step);
    if (step->step <= highest_step_) return std::nullopt;
    highest_step_ = step->step;
    return point;
  }
  if (const auto* sample = std::get_if<monitor::SampleRecord>(&record.body)) return OfSample(record, *sample);
  return std::nullopt;
}

Point PointMaker::OfStep(const monitor::Record& record, const monitor::StepRecord& step) {
  Point point{.series = Series::kSteps, .at_ms = record.wall_us / 1000, .step = step.step};
  point.values[0] = std::bit_cast<float>(step.loss_bits);
  // What comes before the first step of a session is no part of it.
  const auto before = std::exchange(step_us_, record.mono_us);
  if (before && record.mono_us > *before)
    point.values[1] = per_step_ / (kMicro * static_cast<double>(record.mono_us - *before));
  return point;
}

Point PointMaker::OfSample(const monitor::Record& record, const monitor::SampleRecord& sample) {
  Point point{.series = Series::kSamples, .at_ms = record.wall_us / 1000, .step = sample.step};
  const auto before_us = std::exchange(sample_us_, record.mono_us);
  const auto before_cpu_us = std::exchange(sample_cpu_us_, sample.cpu_us);
  if (before_us && record.mono_us > *before_us)
    point.values[0] = static_cast<double>(sample.cpu_us - *before_cpu_us) / static_cast<double>(record.mono_us - *before_us);
  point.values[1] = static_cast<double>(sample.resident);
  if (!sample.gpu) return point;
  const auto put = [&](std::size_t at, std::int64_t figure, double unit) {
    if (figure != monitor::kNotTold) point.values[at] = static_cast<double>(figure) * unit;
  };
  put(2, sample.gpu->utilisation, 1);
  put(3, sample.gpu->memory, 1);
  put(4, sample.gpu->power_mw, kMilli);
  put(5, sample.gpu->energy_mj, kMilli);
  put(6, sample.gpu->temperature, 1);
  put(7, sample.gpu->clock_mhz, 1);
  return point;
}

}  // namespace assay::tracking
