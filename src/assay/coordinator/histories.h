// Histories: what workers told of their runs over time, for whoever wants curves rather than the last figures (mlflow_routes.cc).
//
// Samples are gathered and written together, at most kFlushMs later; what is lost with a process is that much. Of each lease at most kMostPoints of a series are
// kept, evenly: where there are more, every second, fourth, ... of them, and always the last. Once a run is delivered, its own telemetry takes their place (Adopt),
// which is complete and signed. They are workers' word, as all telemetry. Thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "assay/coordinator/answer.h"
#include "assay/life/entry.h"
#include "assay/store/database.h"
#include "assay/tracking/points.h"

namespace assay::coordinator {

// A point with its number in its series, which it keeps when others are left out.
struct NumberedPoint {
  std::int64_t number = 0;
  tracking::Point point{};
  friend bool operator==(const NumberedPoint&, const NumberedPoint&) = default;
};

class Histories {
 public:
  static constexpr std::int64_t kFlushMs = 4'000;
  static constexpr std::size_t kMostPoints = 4'096;  // of a series of a lease
  static constexpr std::size_t kMostWaiting = 1 << 16;

  explicit Histories(store::Database& database) : database_(database) {}

  // `samples`: as a worker posts them, of a lease that is open. What has no figures is passed over.
  void Take(const std::string& order, life::LeaseNumber lease, const std::vector<Json>& samples);
  // Points of the run's own telemetry, all of them, instead of what was told.
  Status Adopt(const std::string& order, life::LeaseNumber lease, const std::vector<tracking::Point>& points);
  // Writes what has been gathered. What could not be written is kept for the next time.
  Status Flush();

  // In the order in which they came. A step that was run again, by a worker that was interrupted, stands once, as it was told last.
  Result<std::vector<NumberedPoint>> Read(const std::string& order, life::LeaseNumber lease, tracking::Series series);
  // The last point of each series that there is.
  Result<std::vector<tracking::Point>> Last(const std::string& order, life::LeaseNumber lease);

 private:
  using Name = std::tuple<std::string, life::LeaseNumber, tracking::Series>;
  std::vector<tracking::Point> Waiting(const Name& name);
  // The first `count` that wait need not any more.
  void Forget(const Name& name, std::size_t count);

  store::Database& database_;
  std::mutex writing_;  // held by who writes; taken before mutex_
  std::mutex mutex_;    // of what follows
  std::map<Name, std::vector<tracking::Point>> gathered_;
  std::size_t waiting_ = 0;
  std::map<std::pair<std::string, life::LeaseNumber>, Json>
      before_;  // the last sample of each lease that posts: what it repeats is no point
};

// The points of one sample as a worker posts it, without what it only repeats of the one `before`, which may be null.
std::vector<tracking::Point> PointsOf(const Json& sample, const Json& before);

// Bytes of points in the database. Decode takes nothing else.
Bytes EncodePoints(const std::vector<NumberedPoint>& points);
Result<std::vector<NumberedPoint>> DecodePoints(ByteSpan bytes, tracking::Series series);

}  // namespace assay::coordinator
