#include "assay/tracking/points.h"

#include <gtest/gtest.h>

#include <bit>

#include "assay/tracking/gauges.h"
#include "assay/tracking/job_params.h"

namespace assay::tracking {
namespace {

monitor::Record Step(std::int64_t us, std::int64_t step, float loss) {
  return {.mono_us = us,
          .wall_us = 7'000'000 + us,
          .body = monitor::StepRecord{.step = step, .loss_bits = std::bit_cast<std::uint32_t>(loss)}};
}
monitor::Record Sampled(std::int64_t us, std::int64_t cpu_us, std::optional<monitor::GpuFigures> gpu = {}) {
  return {.mono_us = us,
          .wall_us = 7'000'000 + us,
          .body = monitor::SampleRecord{.step = 1, .cpu_us = cpu_us, .resident = 10, .gpu = gpu}};
}

TEST(PointMaker, TellsRatesOfTheTimeBetweenRecordsOfASession) {
  PointMaker maker(50);
  EXPECT_FALSE(maker.Take({.body = monitor::SessionRecord{}}));
  const auto first = maker.Take(Step(900'000, 1, 2.5F));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at_ms, 7'900);
  EXPECT_EQ(first->values[0], 2.5);
  EXPECT_FALSE(first->values[1]);
  EXPECT_EQ(maker.Take(Step(1'400'000, 2, 2))->values[1], 100);
  EXPECT_FALSE(maker.Take(Sampled(0, 0))->values[0]);
  const auto sample = maker.Take(Sampled(2'000'000, 3'000'000, monitor::GpuFigures{.utilisation = 9, .power_mw = 1500}));
  EXPECT_EQ(sample->values[0], 1.5);
  EXPECT_EQ(sample->values[2], 9);
  EXPECT_FALSE(sample->values[3]);
  EXPECT_EQ(sample->values[4], 1.5);
  // A session that goes on from before tells what is new, and no time passes between sessions.
  EXPECT_FALSE(maker.Take({.body = monitor::SessionRecord{}}));
  EXPECT_FALSE(maker.Take(Step(100, 2, 2)));
  EXPECT_EQ(maker.Take(Step(500'100, 3, 1))->values[1], 100);
  EXPECT_FALSE(maker.Take(Sampled(600, 5))->values[0]);
}

TEST(Metrics, HaveOnePlaceEach) {
  for (const Series series : {Series::kSteps, Series::kSamples}) {
    for (std::size_t i = 0; i < MetricsOf(series).size(); ++i) {
      const auto place = PlaceOf(MetricsOf(series)[i]);
      ASSERT_TRUE(place);
      EXPECT_EQ(place->series, series);
      EXPECT_EQ(place->value, i);
    }
  }
  EXPECT_FALSE(PlaceOf("accuracy"));
}

TEST(GaugeText, LeavesOutWhatWasNotTold) {
  GaugeSet set{.labels = {{"Hostname", "a\\b\"c\nd"}}};
  set.gpu = {.name = "H200", .memory_total = 3 << 20};
  set.Set({.utilisation = 0, .memory = 1 << 20, .energy_mj = 12});
  set[Gauge::kLoss] = std::numeric_limits<double>::infinity();
  const std::string text = GaugeText({&set, 1});
  const std::string labels = R"({gpu="0",device="nvidia0",modelName="H200",Hostname="a\\b\"c\nd"})";
  EXPECT_NE(text.find("DCGM_FI_DEV_GPU_UTIL" + labels + " 0\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE DCGM_FI_DEV_FB_FREE gauge\nDCGM_FI_DEV_FB_FREE" + labels + " 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(assay_worker_loss{Hostname="a\\b\"c\nd"} +Inf)"), std::string::npos) << text;
  for (const char* absent : {"POWER", "TEMP", "CLOCK", "cores"}) EXPECT_EQ(text.find(absent), std::string::npos) << absent;
  set.Set({});
  EXPECT_EQ(GaugeText({&set, 1}).find("DCGM"), std::string::npos);
}

TEST(Params, AreTheSettingsOfAJobWithoutItsPlaces) {
  const auto job = ParseJob(R"(
name = "n"
steps = 3
[model]
kind = "mlp"
hidden = [4]
[data]
kind = "arrays"
path = "somewhere"
[batch]
microbatch = 2
[optimizer]
kind = "sgd"
[schedule]
kind = "constant"
lr = 0.5
)",
                            "job.toml");
  ASSERT_TRUE(job) << job.error().message;
  const Params params = ParamsOf(*job);
  const auto has = [&](const std::string& key, const std::string& value) {
    return std::find(params.begin(), params.end(), std::pair(key, value)) != params.end();
  };
  EXPECT_TRUE(has("steps", "3"));
  EXPECT_TRUE(has("model.kind", "mlp"));
  EXPECT_TRUE(has("model.hidden", "[4]"));
  EXPECT_TRUE(has("schedule.lr", "0.5"));
  for (const auto& [key, value] : params) EXPECT_TRUE(key != "name" && key != "data.path" && value != "somewhere") << key;
}

}  // namespace
}  // namespace assay::tracking
