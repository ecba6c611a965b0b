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
  const std::string worker = "w\"1+0a0b0c0d+AAAA", order(32, 'a');
  gauges.Take(worker, order, 2, Samples(R"([{"step":3,"loss":2.5,"rate":100},{"cpu":1.5,"memory":4096,"loss":null,
                "gpu":{"name":"NVIDIA H200","uuid":"GPU-1","index":3,"total":8388608,"util":97,"memory":3145728,"power":512.5,"energy":2.5}}])"),
              1000);
  const auto series = Scraped(gauges.Text(1000));
  const std::string own = R"(Hostname="w\"1+0a0b0c0d",worker="w\"1+0a0b0c0d",order=")" + order + R"(",lease="2"})";
  const std::string gpu = R"({gpu="3",UUID="GPU-1",device="nvidia3",modelName="NVIDIA H200",)" + own;
  EXPECT_EQ(series.at("DCGM_FI_DEV_GPU_UTIL" + gpu), 97);
  EXPECT_EQ(series.at("DCGM_FI_DEV_FB_USED" + gpu), 3);
  EXPECT_EQ(series.at("DCGM_FI_DEV_FB_FREE" + gpu), 5);
  EXPECT_EQ(series.at("DCGM_FI_DEV_POWER_USAGE" + gpu), 512.5);
  EXPECT_EQ(series.at("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION" + gpu), 2500);
  EXPECT_EQ(series.at("assay_worker_cpu_cores{" + own), 1.5);
  EXPECT_EQ(series.at("assay_worker_memory_bytes{" + own), 4096);
  EXPECT_EQ(series.at("assay_worker_loss{" + own), 2.5);
  EXPECT_EQ(series.at("assay_worker_step{" + own), 3);
  EXPECT_EQ(series.count("DCGM_FI_DEV_GPU_TEMP" + gpu), 0u);  // not told
  EXPECT_TRUE(gauges.Text(1000 + WorkerGauges::kStaleMs + 1).empty());
}

TEST(WorkerGauges, FiguresOfOtherWorkAreForgotten) {
  WorkerGauges gauges;
  gauges.Take("w+00000000+A", std::string(32, 'a'), 1, Samples(R"([{"cpu":1,"loss":2,"gpu":{"util":5}}])"), 0);
  gauges.Take("w+00000000+A", std::string(32, 'b'), 1, Samples(R"([{"cpu":3}])"), 0);
  const auto series = Scraped(gauges.Text(0));
  ASSERT_EQ(series.size(), 1u);
  EXPECT_NE(series.begin()->first.find(std::string(32, 'b')), std::string::npos);
}

TEST(WorkerGauges, AreBounded) {
  WorkerGauges gauges;
  for (std::size_t i = 0; i < WorkerGauges::kMostWorkers + 10; ++i) {
    gauges.Take(fmt::format("w{}+00000000+A", i), "o", 1, Samples(R"([{"cpu":1}])"), static_cast<std::int64_t>(i));
  }
  const auto text = gauges.Text(static_cast<std::int64_t>(WorkerGauges::kMostWorkers));
  EXPECT_EQ(Scraped(text).size(), WorkerGauges::kMostWorkers);
  EXPECT_EQ(text.find("\"w0+00000000\""), std::string::npos);
  gauges.Take("odd+00000000+A", "o", 1, Samples(R"(["text",[],{"gpu":3,"cpu":"much"},{"gpu":{"util":-3,"memory":1e300}}])"),
              2000);
}

}  // namespace
}  // namespace assay::coordinator
