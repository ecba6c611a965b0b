#include "assay/coordinator/worker_gauges.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <sstream>

namespace assay::coordinator {
namespace {

// What a scraper makes of a page in the text format of Prometheus: series and values. Fails the test where a line is none of the format.
std::map<std::string, double> Scraped(const std::string& text) {
  static const std::regex kLine(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\]|\\["\\n])*",?)*\})? (-?[0-9.e+-]+|NaN|[+-]Inf))re");
  static const std::regex kComment(R"re(# (HELP|TYPE) [a-zA-Z_:][a-zA-Z0-9_:]* .+)re");
  std::map<std::string, double> series;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (std::regex_match(line, kComment)) continue;
    EXPECT_TRUE(std::regex_match(line, match, kLine)) << line;
    const std::size_t space = line.rfind(' ');
    EXPECT_TRUE(series.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second) << "twice: " << line;
  }
  return series;
}

std::vector<Json> Samples(const std::string& text) {
  const Json list = Json::parse(text);
  return {list.begin(), list.end()};
}

TEST(WorkerGauges, AreTheNamesAndUnitsOfDcgmExporter) {
  WorkerGauges gauges;
  gauges.Take("w\"1+0a0b0c0d+AAAA", Samples(R"([{"step":3,"loss":2.5,"rate":100},{"cpu":1.5,"memory":4096,"loss":null,
                "gpu":{"name":"NVIDIA H200","util":97,"memory":3145728,"power":512.5,"energy":2.5}}])"),
              1000);
  const auto series = Scraped(gauges.Text(1000));
  const std::string gpu = R"({gpu="0",modelName="NVIDIA H200",Hostname="w\"1+0a0b0c0d"})";
  EXPECT_EQ(series.at("DCGM_FI_DEV_GPU_UTIL" + gpu), 97);
  EXPECT_EQ(series.at("DCGM_FI_DEV_FB_USED" + gpu), 3);
  EXPECT_EQ(series.at("DCGM_FI_DEV_POWER_USAGE" + gpu), 512.5);
  EXPECT_EQ(series.at("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" + gpu), 2500);
  const std::string own = R"({Hostname="w\"1+0a0b0c0d"})";
  EXPECT_EQ(series.at("assay_worker_cpu_cores" + own), 1.5);
  EXPECT_EQ(series.at("assay_worker_memory_bytes" + own), 4096);
  EXPECT_EQ(series.at("assay_worker_loss" + own), 2.5);
  EXPECT_EQ(series.at("assay_worker_step" + own), 3);
  EXPECT_EQ(series.count("DCGM_FI_DEV_GPU_TEMP" + gpu), 0u);
  EXPECT_TRUE(gauges.Text(1000 + WorkerGauges::kStaleMs + 1).empty());
}

TEST(WorkerGauges, AreBounded) {
  WorkerGauges gauges;
  for (std::size_t i = 0; i < WorkerGauges::kMostWorkers + 10; ++i) {
    gauges.Take(fmt::format("w{}+00000000+A", i), Samples(R"([{"cpu":1}])"), static_cast<std::int64_t>(i));
  }
  const auto series = Scraped(gauges.Text(static_cast<std::int64_t>(WorkerGauges::kMostWorkers)));
  EXPECT_EQ(series.size(), WorkerGauges::kMostWorkers);
  EXPECT_EQ(series.count(R"(assay_worker_cpu_cores{Hostname="w0+00000000"})"), 0u);
  gauges.Take("odd+00000000+A", Samples(R"(["text",[],{"gpu":3,"cpu":"much"}])"), 2000);
}

}  // namespace
}  // namespace assay::coordinator
