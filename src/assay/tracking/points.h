// Points: a run's telemetry as series of numbers over steps and time, as trackers of experiments keep them. Value types; not thread safe.
//
// There are two series, because steps and samples come at their own pace. A metric has one name wherever it is shown; those that TensorBoard's events have too
// have the name that they have there (docs/formats/telemetry.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "assay/monitor/record.h"

namespace assay::tracking {

enum class Series : std::uint8_t { kSteps = 0, kSamples = 1 };
inline constexpr std::size_t kMostValues = 8;

// The metrics of a series, in the order of a point's values.
std::span<const std::string_view> MetricsOf(Series series);

struct MetricPlace {
  Series series{};
  std::size_t value = 0;
};
std::optional<MetricPlace> PlaceOf(std::string_view metric);

struct Point {
  Series series{};
  std::int64_t at_ms = 0;  // since 1970
  std::int64_t step = 0;
  std::array<std::optional<double>, kMostValues> values{};  // what was not told is not there
  friend bool operator==(const Point&, const Point&) = default;
};

// Makes points of the records of a run, from its first on.
class PointMaker {
 public:
  // `per_step`: units of throughput (tokens, images, samples) in a step.
  explicit PointMaker(double per_step) : per_step_(per_step) {}
  // None for sessions and seals, and for a step that an earlier session has told: it is run once more to the same loss, and told once.
  std::optional<Point> Take(const monitor::Record& record);

 private:
  Point OfStep(const monitor::Record& record, const monitor::StepRecord& step);
  Point OfSample(const monitor::Record& record, const monitor::SampleRecord& sample);

  const double per_step_;
  std::int64_t highest_step_ = 0;
  std::optional<std::int64_t> step_us_{};                      // when the last step of the session was
  std::optional<std::int64_t> sample_us_{}, sample_cpu_us_{};  // and its last sample, with its processor time
};

}  // namespace assay::tracking
