#include <cmath>

#include "assay/coordinator/histories.h"

namespace assay::coordinator {
namespace {

using tracking::Point;
using tracking::Series;

struct Figure {
  std::size_t value;  // of the point
  const char* key;    // of the sample
  bool gpu;           // of its object "gpu"
};
constexpr Figure kStepFigures[] = {{0, "loss", false}, {1, "rate", false}};
constexpr Figure kSampleFigures[] = {{0, "cpu", false},  {1, "memory", false}, {2, "util", true},        {3, "memory", true},
                                     {4, "power", true}, {5, "energy", true},  {6, "temperature", true}, {7, "clock", true}};

const Json* Find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::optional<std::int64_t> IntegerOf(const Json& sample, const char* key) {
  const Json* found = Find(sample, key);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return found->get<std::int64_t>();
}

Point Made(const Json& sample, Series series, std::span<const Figure> figures) {
  Point point{.series = series, .at_ms = *IntegerOf(sample, "at"), .step = *IntegerOf(sample, "step")};
  const Json* gpu = Find(sample, "gpu");
  for (const Figure& figure : figures) {
    if (figure.gpu && gpu == nullptr) continue;
    const Json* value = Find(figure.gpu ? *gpu : sample, figure.key);
    if (value == nullptr) continue;
    // A loss that is not finite is told as null.
    if (value->is_null() && series == Series::kSteps && figure.value == 0) point.values[figure.value] = std::nan("");
    if (!value->is_number() || !std::isfinite(value->get<double>())) continue;
    const bool unknown = series == Series::kSteps && figure.value == 1 && value->get<double>() <= 0;  // a rate
    if (!unknown) point.values[figure.value] = value->get<double>();
  }
  return point;
}

bool HasAny(const Point& point) {
  return std::any_of(point.values.begin(), point.values.end(), [](const auto& value) { return value.has_value(); });
}

bool Same(const Json& a, const Json& b, const char* key) {
  const Json *one = Find(a, key), *other = Find(b, key);
  return one == nullptr || other == nullptr ? one == other : *one == *other;
}

}  // namespace

std::vector<Point> PointsOf(const Json& sample, const Json& before) {
  std::vector<Point> points;
  const auto at = IntegerOf(sample, "at"), step = IntegerOf(sample, "step");
  if (!at || !step || *step < 0) return points;
  const Json* phase = Find(sample, "phase");
  if (phase == nullptr || *phase != "train") return points;
  if (*step > 0 && !Same(sample, before, "step")) points.push_back(Made(sample, Series::kSteps, kStepFigures));
  if (!Same(sample, before, "cpu") || !Same(sample, before, "memory") || !Same(sample, before, "gpu"))
    points.push_back(Made(sample, Series::kSamples, kSampleFigures));
  std::erase_if(points, [](const Point& point) { return !HasAny(point); });
  return points;
}

Bytes EncodePoints(const std::vector<NumberedPoint>& points) {
  ByteWriter out;
  for (const NumberedPoint& numbered : points) {
    const Point& point = numbered.point;
    std::uint8_t told = 0;
    for (std::size_t i = 0; i < tracking::kMostValues; ++i) told |= static_cast<std::uint8_t>((point.values[i] ? 1U : 0U) << i);
    out.I64(numbered.number);
    out.I64(point.at_ms);
    out.I64(point.step);
    out.U8(told);
    for (const auto& value : point.values) {
      if (value) out.F64(*value);
    }
  }
  return out.Take();
}

Result<std::vector<NumberedPoint>> DecodePoints(ByteSpan bytes, Series series) {
  ByteReader in(bytes, "history");
  std::vector<NumberedPoint> points;
  while (in.remaining() > 0) {
    NumberedPoint numbered{.point = {.series = series}};
    ASSAY_ASSIGN(numbered.number, in.I64());
    ASSAY_ASSIGN(numbered.point.at_ms, in.I64());
    ASSAY_ASSIGN(numbered.point.step, in.I64());
    ASSAY_ASSIGN(const std::uint8_t told, in.U8());
    for (std::size_t i = 0; i < tracking::kMostValues; ++i) {
      if ((told >> i & 1U) == 0) continue;
      ASSAY_ASSIGN(const double value, in.F64());
      numbered.point.values[i] = value;
    }
    points.push_back(std::move(numbered));
  }
  return points;
}

}  // namespace assay::coordinator
