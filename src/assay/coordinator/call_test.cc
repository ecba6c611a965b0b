#include "assay/coordinator/call.h"

#include <gtest/gtest.h>

#include <chrono>

namespace assay::coordinator {
namespace {

std::string ErrorOf(std::string_view text) {
  const auto parsed = ParseBody(AsBytes(text));
  return parsed ? "" : parsed.error().error;
}

TEST(Body, IsOneObjectWithoutAKeyTwice) {
  EXPECT_EQ(ErrorOf(""), "");
  EXPECT_EQ(ErrorOf("{}"), "");
  EXPECT_EQ(ErrorOf(R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})"), "");
  EXPECT_EQ(ErrorOf(R"({"a":1,"a":1})"), "the body's JSON has a key twice");
  EXPECT_EQ(ErrorOf(R"({"x":[{"a":1,"b":2,"a":1}]})"), "the body's JSON has a key twice");
  EXPECT_EQ(ErrorOf(R"({"a":1,"\u0061":1})"), "the body's JSON has a key twice");
  for (const char* other : {"[]", "1", "null", "\"x\""}) EXPECT_EQ(ErrorOf(other), "the body is no JSON object");
  for (const char* broken : {"{", "{}x", "{\"a\":}", "{\"a\":01}", "\xef\xbb\xbf", "{\"\xff\":1}", "{'a':1}"}) {
    EXPECT_EQ(ErrorOf(broken), "the body is no JSON") << broken;
  }
}

TEST(Body, IsNeitherDeepNorWide) {
  const auto nested = [](std::size_t depth) { return "{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}"; };
  EXPECT_EQ(ErrorOf(nested(31)), "");
  EXPECT_NE(ErrorOf(nested(32)), "");
  EXPECT_NE(ErrorOf(std::string(1 << 20, '[')), "");
  EXPECT_EQ(ErrorOf(R"({"a":"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[[[["})"), "");
  std::string wide = "{";
  for (int i = 0; i < 200'000; ++i) wide += fmt::format("\"{}\":0,", i);
  wide += "\"x\":0}";
  const auto before = std::chrono::steady_clock::now();
  EXPECT_EQ(ErrorOf(wide), "the body's JSON has an object of more than 1024 keys");
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
}

TEST(Fields, AreWhatTheySay) {
  const Call call{
      .body = *ParseBody(AsBytes(
          R"({"text":"abc","number":7,"minus":-1,"half":0.5,"big":9223372036854775808,"zero":"a\u0000","list":["a","b"],"mixed":["a",1]})"))};
  EXPECT_EQ(*call.Text("text", 3), "abc");
  EXPECT_FALSE(call.Text("text", 2));
  EXPECT_FALSE(call.Text("number", 9));
  EXPECT_FALSE(call.Text("absent", 9));
  EXPECT_FALSE(call.Text("zero", 9));
  EXPECT_EQ(*call.TextOr("absent", 9, "x"), "x");
  EXPECT_FALSE(call.TextOr("number", 9, "x"));
  EXPECT_EQ(*call.Number("number"), 7);
  for (const char* key : {"minus", "half", "big", "text", "absent"}) EXPECT_FALSE(call.Number(key)) << key;
  EXPECT_EQ(*call.NumberOr("absent", 3), 3);
  EXPECT_EQ(call.Texts("list", 2)->size(), 2);
  EXPECT_FALSE(call.Texts("list", 1));
  EXPECT_FALSE(call.Texts("mixed", 2));
}

}  // namespace
}  // namespace assay::coordinator
