#include "assay/coordinator/histories.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace assay::coordinator {
namespace {

using store::Rows;
using store::Transaction;
using tracking::Point;
using tracking::Series;

constexpr std::size_t kMostLeases = 16'384;  // whose last sample is remembered
constexpr std::size_t kPointsInRow = 128;    // so that adding a few rewrites little

std::int64_t KindOf(Series series) { return static_cast<std::int64_t>(series); }

// What the database has of a series. The points are in rows; these are their numbers, and the last point, kept or not.
struct Shelf {
  std::int64_t seen = 0, kept = 0, stride = 1;
  Bytes last{};
};

Result<std::optional<Shelf>> ShelfOf(Transaction& t, const std::string& order, life::LeaseNumber lease, Series series) {
  ASSAY_ASSIGN(const Rows rows, t.Run("SELECT seen, kept, stride, last FROM histories WHERE order_id = $1 AND lease = $2 AND "
                                      "kind = $3",
                                      {order, lease, KindOf(series)}));
  if (rows.empty()) return std::optional<Shelf>();
  Shelf shelf;
  ASSAY_ASSIGN(shelf.seen, rows[0].Integer(0));
  ASSAY_ASSIGN(shelf.kept, rows[0].Integer(1));
  ASSAY_ASSIGN(shelf.stride, rows[0].Integer(2));
  ASSAY_ASSIGN(shelf.last, rows[0].Blob(3));
  return std::optional<Shelf>(std::move(shelf));
}

Status Put(Transaction& t, const std::string& order, life::LeaseNumber lease, Series series, const Shelf& shelf) {
  ASSAY_TRY(
      t.Run("INSERT INTO histories (order_id, lease, kind, seen, kept, stride, last) VALUES ($1, $2, $3, $4, $5, $6, $7) "
            "ON CONFLICT (order_id, lease, kind) DO UPDATE SET seen = $4, kept = $5, stride = $6, last = $7",
            {order, lease, KindOf(series), shelf.seen, shelf.kept, shelf.stride, shelf.last}));
  return {};
}

Status PutRow(Transaction& t, const std::string& order, life::LeaseNumber lease, Series series,
              const std::vector<NumberedPoint>& points) {
  ASSAY_TRY(
      t.Run("INSERT INTO history_points (order_id, lease, kind, number, points) VALUES ($1, $2, $3, $4, $5) "
            "ON CONFLICT (order_id, lease, kind, number) DO UPDATE SET points = $5",
            {order, lease, KindOf(series), points.front().number, EncodePoints(points)}));
  return {};
}

Status PutRows(Transaction& t, const std::string& order, life::LeaseNumber lease, Series series,
               const std::vector<NumberedPoint>& points) {
  for (std::size_t from = 0; from < points.size(); from += kPointsInRow) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(from);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kPointsInRow, points.size() - from));
    ASSAY_TRY(PutRow(t, order, lease, series, {first, first + count}));
  }
  return {};
}

Status RemoveRows(Transaction& t, const std::string& order, life::LeaseNumber lease, Series series) {
  ASSAY_TRY(
      t.Run("DELETE FROM history_points WHERE order_id = $1 AND lease = $2 AND kind = $3", {order, lease, KindOf(series)}));
  return {};
}

// All that is kept, in order.
Result<std::vector<NumberedPoint>> PointsIn(Transaction& t, const std::string& order, life::LeaseNumber lease, Series series) {
  ASSAY_ASSIGN(const Rows rows,
               t.Run("SELECT points FROM history_points WHERE order_id = $1 AND lease = $2 AND kind = $3 ORDER BY number",
                     {order, lease, KindOf(series)}));
  std::vector<NumberedPoint> all;
  for (const store::Row& row : rows) {
    ASSAY_ASSIGN(const Bytes bytes, row.Blob(0));
    ASSAY_ASSIGN(std::vector<NumberedPoint> points, DecodePoints(bytes, series));
    all.insert(all.end(), std::make_move_iterator(points.begin()), std::make_move_iterator(points.end()));
  }
  return all;
}

// Adds the points to the last row where it has room.
Status Append(Transaction& t, const std::string& order, life::LeaseNumber lease, Series series,
              std::vector<NumberedPoint> points) {
  ASSAY_ASSIGN(const Rows rows, t.Run("SELECT points FROM history_points WHERE order_id = $1 AND lease = $2 AND kind = $3 "
                                      "ORDER BY number DESC LIMIT 1",
                                      {order, lease, KindOf(series)}));
  if (!rows.empty()) {
    ASSAY_ASSIGN(const Bytes bytes, rows[0].Blob(0));
    ASSAY_ASSIGN(std::vector<NumberedPoint> last, DecodePoints(bytes, series));
    if (last.size() < kPointsInRow) {
      last.insert(last.end(), points.begin(), points.end());
      points = std::move(last);
    }
  }
  return PutRows(t, order, lease, series, points);
}

// Leaves out every second of what is kept, until that is few enough.
Status ThinOut(Transaction& t, const std::string& order, life::LeaseNumber lease, Series series, Shelf& shelf) {
  ASSAY_ASSIGN(std::vector<NumberedPoint> points, PointsIn(t, order, lease, series));
  while (points.size() > Histories::kMostPoints) {
    shelf.stride *= 2;
    std::erase_if(points, [&](const NumberedPoint& point) { return point.number % shelf.stride != 0; });
  }
  shelf.kept = static_cast<std::int64_t>(points.size());
  ASSAY_TRY(RemoveRows(t, order, lease, series));
  return PutRows(t, order, lease, series, points);
}

Status WriteIn(Transaction& t, const std::string& order, life::LeaseNumber lease, Series series,
               const std::vector<Point>& points) {
  ASSAY_ASSIGN(const std::optional<Shelf> found, ShelfOf(t, order, lease, series));
  Shelf shelf = found.value_or(Shelf{});
  std::vector<NumberedPoint> kept;
  for (const Point& point : points) {
    const NumberedPoint numbered{.number = shelf.seen++, .point = point};
    if (numbered.number % shelf.stride == 0) kept.push_back(numbered);
    if (&point == &points.back()) shelf.last = EncodePoints({numbered});
  }
  if (!kept.empty()) {
    shelf.kept += static_cast<std::int64_t>(kept.size());
    ASSAY_TRY(Append(t, order, lease, series, std::move(kept)));
    if (shelf.kept > static_cast<std::int64_t>(Histories::kMostPoints)) ASSAY_TRY(ThinOut(t, order, lease, series, shelf));
  }
  return Put(t, order, lease, series, shelf);
}

// What was run again replaces what was told of it before.
void DropRepeated(std::vector<NumberedPoint>& points) {
  std::vector<NumberedPoint> once;
  for (NumberedPoint& point : points) {
    while (!once.empty() && once.back().point.step >= point.point.step) once.pop_back();
    once.push_back(std::move(point));
  }
  points = std::move(once);
}

}  // namespace

void Histories::Take(const std::string& order, life::LeaseNumber lease, const std::vector<Json>& samples) {
  const std::lock_guard lock(mutex_);
  const std::pair name(order, lease);
  if (before_.size() >= kMostLeases && !before_.contains(name)) before_.erase(before_.begin());
  Json& before = before_[name];
  for (const Json& sample : samples) {
    for (Point& point : PointsOf(sample, before)) {
      if (waiting_ >= kMostWaiting) break;  // the database has not taken any for a long time
      gathered_[{order, lease, point.series}].push_back(std::move(point));
      ++waiting_;
    }
    if (sample.is_object()) before = sample;
  }
}

Status Histories::Flush() {
  constexpr std::size_t kTogether = 256;  // series in one transaction: each alone would wait for the disk
  const std::lock_guard writing(writing_);
  std::vector<std::pair<Name, std::vector<Point>>> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.assign(gathered_.begin(), gathered_.end());  // readers see it until it is written
  }
  Status all;
  for (std::size_t from = 0; from < taken.size(); from += kTogether) {
    const std::span some = std::span(taken).subspan(from, std::min(kTogether, taken.size() - from));
    const Status written = database_.Write([&](Transaction& t) -> Status {
      for (const auto& [name, points] : some) {
        const auto& [order, lease, series] = name;
        ASSAY_TRY(WriteIn(t, order, lease, series, points));
      }
      return {};
    });
    if (!written) all = written;
    if (!written && written.error().not_the_askers()) continue;  // later
    for (const auto& [name, points] : some) Forget(name, points.size());
  }
  return all;
}

void Histories::Forget(const Name& name, std::size_t count) {
  const std::lock_guard lock(mutex_);
  const auto found = gathered_.find(name);
  if (found == gathered_.end()) return;
  std::vector<Point>& points = found->second;
  count = std::min(count, points.size());
  points.erase(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(count));
  waiting_ -= count;
  if (points.empty()) gathered_.erase(found);
}

Status Histories::Adopt(const std::string& order, life::LeaseNumber lease, const std::vector<Point>& points) {
  const std::lock_guard writing(writing_);
  {
    const std::lock_guard lock(mutex_);
    before_.erase({order, lease});
  }
  for (const Series series : {Series::kSteps, Series::kSamples}) Forget({order, lease, series}, SIZE_MAX);
  return database_.Write([&](Transaction& t) -> Status {
    for (const Series series : {Series::kSteps, Series::kSamples}) {
      std::vector<Point> own;
      std::copy_if(points.begin(), points.end(), std::back_inserter(own),
                   [&](const Point& point) { return point.series == series; });
      ASSAY_TRY(RemoveRows(t, order, lease, series));
      ASSAY_TRY(
          t.Run("DELETE FROM histories WHERE order_id = $1 AND lease = $2 AND kind = $3", {order, lease, KindOf(series)}));
      if (!own.empty()) ASSAY_TRY(WriteIn(t, order, lease, series, own));
    }
    return {};
  });
}

std::vector<Point> Histories::Waiting(const Name& name) {
  const std::lock_guard lock(mutex_);
  const auto found = gathered_.find(name);
  return found == gathered_.end() ? std::vector<Point>() : found->second;
}

Result<std::vector<NumberedPoint>> Histories::Read(const std::string& order, life::LeaseNumber lease, Series series) {
  const std::lock_guard writing(writing_);  // so that nothing is written and waiting at once
  std::int64_t seen = 0;
  ASSAY_ASSIGN(std::vector<NumberedPoint> points, database_.Read([&](Transaction& t) -> Result<std::vector<NumberedPoint>> {
    ASSAY_ASSIGN(const std::optional<Shelf> shelf, ShelfOf(t, order, lease, series));
    if (!shelf) return std::vector<NumberedPoint>();
    seen = shelf->seen;
    ASSAY_ASSIGN(std::vector<NumberedPoint> kept, PointsIn(t, order, lease, series));
    ASSAY_ASSIGN(const std::vector<NumberedPoint> last, DecodePoints(shelf->last, series));
    if (!last.empty() && (kept.empty() || kept.back().number < last.back().number)) kept.push_back(last.back());
    return kept;
  }));
  for (const Point& point : Waiting({order, lease, series})) points.push_back({.number = seen++, .point = point});
  if (series == Series::kSteps) DropRepeated(points);
  return points;
}

Result<std::vector<Point>> Histories::Last(const std::string& order, life::LeaseNumber lease) {
  std::vector<Point> found;
  for (const Series series : {Series::kSteps, Series::kSamples}) {
    if (const auto waiting = Waiting({order, lease, series}); !waiting.empty()) {
      found.push_back(waiting.back());
      continue;
    }
    ASSAY_ASSIGN(const std::optional<Shelf> shelf,
                 database_.Read([&](Transaction& t) { return ShelfOf(t, order, lease, series); }));
    if (!shelf) continue;
    ASSAY_ASSIGN(const std::vector<NumberedPoint> last, DecodePoints(shelf->last, series));
    if (!last.empty()) found.push_back(last.back().point);
  }
  return found;
}

}  // namespace assay::coordinator
