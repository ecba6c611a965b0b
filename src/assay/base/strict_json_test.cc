#include "assay/base/strict_json.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::string Refusal(std::string_view text, int depth = 3) {
  const auto json = ParseJsonObject(text, "f", depth);
  return json ? "accepted" : json.error().message;
}

TEST(StrictJson, ReadsAnObject) {
  const auto json = ParseJsonObject(R"({"a": [1, {"a": 2}], "b": {"a": null}})", "f", 3);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ((*json)["a"][1]["a"], 2);
  EXPECT_EQ(json->size(), 2u);
}

TEST(StrictJson, RefusesWhatReadersTakeDifferently) {
  EXPECT_EQ(Refusal("[1]"), "f: expected a JSON object");
  EXPECT_EQ(Refusal("{\"a\": 1"), "f: expected a JSON object");
  EXPECT_EQ(Refusal("{\"a\": 1} x"), "f: expected a JSON object");
  EXPECT_EQ(Refusal("{\"a\": NaN}"), "f: expected a JSON object");
  EXPECT_EQ(Refusal("{\"a\": \"\xff\"}"), "f: expected a JSON object");
  EXPECT_EQ(Refusal(R"({"a": 1, "b": 2, "a": 1})"), "f: has the key 'a' twice");
  EXPECT_EQ(Refusal(R"({"x": [{"c": 1}, {"c": 1, "c": 2}]})"), "f: has the key 'c' twice");
  EXPECT_EQ(Refusal(R"({"x": {"c": 1}, "y": {"c": 1}})"), "accepted");
  EXPECT_EQ(Refusal(R"({"x": [[1]]})"), "accepted");
  EXPECT_EQ(Refusal(R"({"x": [[[1]]]})"), "f: nests deeper than 3 levels, which its format does not");
  EXPECT_EQ(Refusal("{\"x\":" + std::string(100'000, '[')), "f: nests deeper than 3 levels, which its format does not");
}

TEST(StrictJson, DescribesValues) {
  EXPECT_EQ(DescribeJson(nullptr), "null");
  EXPECT_EQ(DescribeJson(true), "true");
  EXPECT_EQ(DescribeJson(1e-5), "1e-05");
  EXPECT_EQ(DescribeJson("a\nb"), "'a\\x0ab'");
  EXPECT_EQ(DescribeJson(nlohmann::json::array({1})), "a list");
}

}  // namespace
}  // namespace assay
