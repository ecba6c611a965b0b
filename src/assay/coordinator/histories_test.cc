#include "assay/coordinator/histories.h"

#include <cmath>

#include "support/test_book.h"

namespace assay::coordinator {
namespace {

using tracking::Point;
using tracking::Series;

class HistoriesTest : public BookTest {
 protected:
  void SetUp() override {
    BookTest::SetUp();
    order_ = Submit({.replicas = 2});
  }
  static Point StepPoint(std::int64_t step, double loss) {
    Point point{.series = Series::kSteps, .at_ms = 1000 + step, .step = step};
    point.values[0] = loss;
    return point;
  }
  static std::vector<Json> Steps(std::int64_t from, std::int64_t to) {
    std::vector<Json> samples;
    for (std::int64_t step = from; step <= to; ++step) {
      samples.push_back({{"at", 1000 + step}, {"phase", "train"}, {"step", step}, {"loss", 1.0 / static_cast<double>(step)}});
    }
    return samples;
  }
  std::vector<NumberedPoint> ReadSteps() {
    auto points = histories().Read(order_, 1, Series::kSteps);
    EXPECT_TRUE(points) << points.error().message;
    return points.value_or(std::vector<NumberedPoint>());
  }
  Histories& histories() {
    if (histories_ == nullptr) histories_ = std::make_unique<Histories>(*database_);
    return *histories_;
  }
  void Restart() { histories_.reset(); }

  std::string order_;
  std::unique_ptr<Histories> histories_;
};
INSTANTIATE_TEST_SUITE_P(Engines, HistoriesTest, ::testing::ValuesIn(store::Engines(true)), store::EngineName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(HistoriesTest);

TEST_P(HistoriesTest, WhatWasToldIsReadBeforeAndAfterItIsWritten) {
  histories().Take(order_, 1, Steps(1, 5));
  const auto before = ReadSteps();
  ASSERT_EQ(before.size(), 5u);
  EXPECT_EQ(before[4].point.step, 5);
  EXPECT_EQ(before[4].point.values[0], 0.2);
  Good(histories().Flush());
  EXPECT_EQ(ReadSteps(), before);
  Restart();
  EXPECT_EQ(ReadSteps(), before);
  histories().Take(order_, 1, Steps(6, 400));
  Good(histories().Flush());
  histories().Take(order_, 1, Steps(401, 402));
  const auto after = ReadSteps();
  ASSERT_EQ(after.size(), 402u);
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i].number, static_cast<std::int64_t>(i));
  const auto last = histories().Last(order_, 1);
  ASSERT_TRUE(last);
  ASSERT_EQ(last->size(), 1u);
  EXPECT_EQ(last->front().step, 402);
}

TEST_P(HistoriesTest, AreBoundedAndEvenAndKeepTheLast) {
  constexpr std::int64_t kMany = 3 * Histories::kMostPoints + 7;
  for (std::int64_t from = 1; from <= kMany; from += 2'000) {
    histories().Take(order_, 1, Steps(from, std::min(kMany, from + 1'999)));
    Good(histories().Flush());
  }
  const auto points = ReadSteps();
  EXPECT_LE(points.size(), Histories::kMostPoints + 1);
  EXPECT_GE(points.size(), Histories::kMostPoints / 2);
  EXPECT_EQ(points.front().point.step, 1);
  EXPECT_EQ(points.back().point.step, kMany);
  for (std::size_t i = 1; i + 1 < points.size(); ++i) EXPECT_EQ(points[i].number - points[i - 1].number, 4);
}

TEST_P(HistoriesTest, AStepThatIsRunAgainStandsOnce) {
  histories().Take(order_, 1, Steps(1, 10));
  Good(histories().Flush());
  histories().Take(order_, 1, Steps(6, 12));
  const auto points = ReadSteps();
  ASSERT_EQ(points.size(), 12u);
  for (std::size_t i = 0; i < points.size(); ++i) EXPECT_EQ(points[i].point.step, static_cast<std::int64_t>(i) + 1);
}

TEST_P(HistoriesTest, TheRunsOwnTelemetryTakesTheirPlace) {
  histories().Take(order_, 1, Steps(1, 300));
  Good(histories().Flush());
  histories().Take(order_, 1, Steps(301, 310));
  Point sample{.series = Series::kSamples, .at_ms = 5, .step = 1};
  sample.values[1] = 4096;
  Good(histories().Adopt(order_, 1, {StepPoint(1, 0.5), sample, StepPoint(2, std::nan(""))}));
  Good(histories().Flush());
  const auto points = ReadSteps();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].point, StepPoint(1, 0.5));
  EXPECT_TRUE(std::isnan(*points[1].point.values[0]));
  const auto samples = histories().Read(order_, 1, Series::kSamples);
  ASSERT_TRUE(samples && samples->size() == 1);
  EXPECT_EQ(samples->front().point, sample);
  // Another lease is another history.
  const auto other = histories().Read(order_, 2, Series::kSteps);
  EXPECT_TRUE(other && other->empty());
}

TEST(HistoryPoints, OfASampleAreWhatItDoesNotRepeat) {
  const Json first = Json::parse(R"({"at":1,"phase":"train","step":3,"loss":null,"rate":0,"cpu":1.5,"memory":7,
                                     "gpu":{"name":"x","util":50,"power":2.5}})");
  const auto points = PointsOf(first, Json());
  ASSERT_EQ(points.size(), 2u);
  EXPECT_TRUE(std::isnan(*points[0].values[0]));
  EXPECT_FALSE(points[0].values[1]);
  EXPECT_EQ(points[1].values[0], 1.5);
  EXPECT_EQ(points[1].values[2], 50);
  EXPECT_FALSE(points[1].values[3]);
  EXPECT_TRUE(PointsOf(first, first).empty());
  Json next = first;
  next["step"] = 4;
  next["loss"] = 2;
  ASSERT_EQ(PointsOf(next, first).size(), 1u);
  for (const char* none :
       {R"({"at":1,"phase":"audit","step":3,"loss":1})", R"({"phase":"train","step":3,"loss":1})", R"([])",
        R"({"at":1,"phase":"train","step":-3,"loss":1})", R"({"at":"1","phase":"train","step":3,"loss":1})",
        R"({"at":1,"phase":"train","step":3,"steps":9})", R"({"at":18446744073709551615,"phase":"train","step":3})"}) {
    EXPECT_TRUE(PointsOf(Json::parse(none), Json()).empty()) << none;
  }
}

TEST(HistoryPoints, BytesComeBack) {
  Point point{.series = Series::kSamples, .at_ms = 77, .step = 5};
  point.values[0] = 1.25;
  point.values[7] = -3;
  const std::vector<NumberedPoint> points = {{.number = 4, .point = point},
                                             {.number = 8, .point = {.series = Series::kSamples}}};
  const Bytes bytes = EncodePoints(points);
  EXPECT_EQ(DecodePoints(bytes, Series::kSamples).value(), points);
  EXPECT_FALSE(DecodePoints(ByteSpan(bytes).first(bytes.size() - 1), Series::kSamples));
}

}  // namespace
}  // namespace assay::coordinator
